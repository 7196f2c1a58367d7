/**
 * The names under which a submission's score is made up, and what each means. Names alone are stored with a
 * submission, so none of them can carry what a person wrote. This module is browser compatible.
 *
 * @module
 */

/**
 * Every reason there is, in the order in which a verdict lists them, with one sentence for the operator.
 *
 * The documents and the console are made from this table.
 */
export const spamReasons = {
  links: {
    meaning: "The text has web links, other than to the sites where people keep listings and photos.",
  },
  link_only: { meaning: "A message is little more than a link to an unfamiliar site." },
  link_in_name: { meaning: "A name, phone or address field holds a web address." },
  link_shortener: { meaning: "A link hides its destination behind a shortening service." },
  link_odd_host: { meaning: "A link goes to a bare IP address, a disguised host name or an unusual port." },
  link_cheap_domain: {
    meaning: "A link goes to a top-level domain that is used mostly for throw-away sites.",
  },
  link_disguised: { meaning: "A link is spelled so that filters miss it, such as hxxp or [.]com." },
  link_markup: { meaning: "The text has links as HTML or forum code, which people do not type." },
  chat_link: { meaning: "The text sends the reader to a chat account on Telegram or WhatsApp." },
  blocked_words: { meaning: "The text has words that are blocked for this form." },
  repeated_text: { meaning: "The same sentence, word or letter is repeated many times." },
  same_value: { meaning: "Fields that ask for different things hold the same text." },
  mixed_scripts: { meaning: "Words are spelled with look-alike letters of another alphabet." },
  hidden_characters: { meaning: "Invisible characters are hidden inside words." },
  styled_letters: { meaning: "The text uses decorative letters that stand for plain ones." },
  foreign_script: { meaning: "The message is in another script than the name; this alone never holds." },
  gibberish_name: { meaning: "A name is a string of random letters." },
  gibberish_text: { meaning: "A message or answer is a string of random letters." },
  gibberish_contact: { meaning: "The mail address or phone number looks made up by a program." },
  random_case: { meaning: "A field holds one token of randomly mixed capitals, as programs fill in." },
  too_fast: { meaning: "The form was sent sooner after it was opened than a person can fill it in." },
  disposable_mail: { meaning: "The mail address belongs to a throw-away mail service." },
  solicitation: { meaning: "The sender offers services to the business instead of asking for them." },
  sales_wording: { meaning: "The wording is a seller's rather than a customer's." },
  off_topic: {
    meaning: "A text with a link, or with other signs of a pitch, names no building and asks for no work.",
  },
  pitch_search_ranking: { meaning: "The text sells search rankings, backlinks or site traffic." },
  pitch_web_design: { meaning: "The text sells web sites, apps, logos or videos." },
  pitch_publishing: { meaning: "The text asks for guest posts, link exchange or sponsored articles." },
  pitch_marketing: { meaning: "The text sells advertising, leads, followers or reviews." },
  pitch_business: { meaning: "The text sells services or goods to contractors and firms." },
  pitch_finance: { meaning: "The text sells loans, business funding or credit repair." },
  pitch_easy_money: { meaning: "The text promises income, crypto profits or jobs at home." },
  pitch_gambling: { meaning: "The text advertises casinos or betting." },
  pitch_health: { meaning: "The text advertises drugs, diets or supplements." },
  pitch_goods: { meaning: "The text advertises goods, forged papers or pirated software." },
  pitch_adult: { meaning: "The text advertises sex or dating." },
  pitch_scam: { meaning: "The text has the wording of a known fraud, threat or advance-fee letter." },
  template_left: { meaning: "The text has unfilled placeholders of a mass-mailing program." },
  attack_probe: { meaning: "A field holds code that tests web sites for weaknesses." },
  shouting: { meaning: "A long text is all capitals." },
  punctuation: { meaning: "The text has many exclamation marks, currency signs or emoji." },
} as const satisfies Readonly<Record<string, { readonly meaning: string }>>;

/**
 * Every reason that a verdict can list: those of the score, and the one that holds without any points.
 *
 * Chosen: the trap stands first and adds nothing to the score, which stays what the content earned, so that an operator
 * sees a person whose browser filled in the hidden field.
 */
export const verdictReasons = {
  honeypot_filled: {
    meaning: "The hidden field was filled in, which holds whatever the score is.",
  },
  ...spamReasons,
} as const;

/** The name of a reason of a verdict. */
export type VerdictReasonName = keyof typeof verdictReasons;

/** The name of a reason. */
export type SpamReasonName = keyof typeof spamReasons;

/** One named part of a score: a name and its points, never content, because it outlives an erasure. */
export interface SpamReason {
  readonly name: SpamReasonName;
  /** A whole number over 0. */
  readonly points: number;
}
