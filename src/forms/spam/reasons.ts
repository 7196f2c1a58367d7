/**
 * The names under which a submission is scored, and what each means. Names alone are stored with a submission, so none of
 * them can carry what a person wrote. This module is browser compatible.
 */

/**
 * Every reason of a score, in the order in which a verdict lists them, with one sentence for the operator.
 *
 * The documents and the console are made from this table.
 */
export const spamReasons = {
  blocked_words: { meaning: "The text has words that are blocked for this form." },
  unjudged: { meaning: "The form was sent with more fields, or longer field names, than are judged." },
  wording: { meaning: "The words are those of spam." },
  links: { meaning: "The text has links, other than to the sites where people keep listings and photos." },
  link_only: { meaning: "A message is little more than a link to an unfamiliar site." },
  link_in_name: { meaning: "A name, phone or address field holds a web address." },
  link_shortener: { meaning: "A link hides its destination behind a shortening service." },
  link_odd_host: { meaning: "A link goes to an IP address or a disguised host name." },
  link_disguised: { meaning: "A link is spelled so that filters miss it, such as hxxp or [.]com." },
  link_markup: { meaning: "The text has links as HTML or forum code, which people do not type." },
  chat_link: { meaning: "The text sends the reader to a chat account on Telegram or WhatsApp." },
  repeated_post: { meaning: "Other senders have posted the same text." },
  same_value: { meaning: "A name is also the message, the phone number or the address." },
  mixed_scripts: { meaning: "Words are spelled with look-alike letters of another alphabet." },
  gibberish_name: { meaning: "A name is a string of random letters." },
  gibberish_text: { meaning: "A message or answer is a string of random letters." },
  gibberish_contact: { meaning: "The mail address or phone number looks made up by a program." },
  mail_unlike_name: { meaning: "The mail address has nothing of the name." },
  too_fast: { meaning: "The form was sent sooner after it was opened than a person can fill it in." },
  disposable_mail: { meaning: "The mail address belongs to a throw-away mail service." },
  template_left: { meaning: "The text has unfilled placeholders of a mass-mailing program." },
  attack_probe: { meaning: "A field holds code that tests web sites for weaknesses." },
} as const satisfies Readonly<Record<string, { readonly meaning: string }>>;

/**
 * Every reason that a verdict can list: those of the score, and the one that holds whatever the score is.
 *
 * Chosen: the trap stands first and adds nothing to the score, which stays what the content earned, so that an operator
 * sees a person whose browser filled in the hidden field.
 */
export const verdictReasons = {
  honeypot_filled: { meaning: "The hidden field was filled in, which holds whatever the score is." },
  ...spamReasons,
} as const;

/** The name of a reason of a score. */
export type SpamReasonName = keyof typeof spamReasons;

/** What was found of a submission besides its words, and how often; `true` is once. */
export type Sign = readonly [name: SpamReasonName, times: number | boolean];
