/** The reasons of a score. Only names are stored, never what a person wrote. This module is browser compatible. */

/** Every reason of a score in the order of a verdict, with a sentence for operator and documents. */
export const spamReasons = {
  blocked_words: { meaning: "The text contains words that are blocked for this form." },
  unjudged: { meaning: "The submission has more fields, or longer field names, than can be scored." },
  wording: { meaning: "The words are typical of spam." },
  links: { meaning: "The text contains links, other than to sites for listings and photos." },
  link_only: { meaning: "A message is little more than a link to an unfamiliar site." },
  link_in_name: { meaning: "A name, phone or address field holds a web address." },
  link_shortener: { meaning: "A link hides its destination behind a shortening service." },
  link_odd_host: { meaning: "A link goes to an IP address or a disguised host name." },
  link_disguised: { meaning: "A link is disguised from filters, for example with hxxp or [.]com." },
  link_markup: { meaning: "The text has links as HTML or forum code, which people do not type." },
  chat_link: { meaning: "The text sends the reader to a chat account on Telegram or WhatsApp." },
  repeated_post: { meaning: "Other senders have posted the same text." },
  same_value: { meaning: "A name is also the message, the phone number or the address." },
  mixed_scripts: { meaning: "Words are spelled with look-alike letters of another alphabet." },
  gibberish_name: { meaning: "A name is a string of random letters." },
  gibberish_text: { meaning: "A message or answer is a string of random letters." },
  gibberish_contact: { meaning: "The mail address or phone number looks made up by a program." },
  mail_unlike_name: { meaning: "The mail address does not match the name." },
  too_fast: { meaning: "The form was sent sooner after it was opened than a person could fill it in." },
  disposable_mail: { meaning: "The mail address belongs to a throw-away mail service." },
  template_left: { meaning: "The text has unfilled placeholders of a mass-mailing program." },
  attack_probe: { meaning: "A field holds code that tests web sites for weaknesses." },
} as const satisfies Readonly<Record<string, { readonly meaning: string }>>;

/** The reasons of a verdict: those of the score, and the honeypot, which does not change the score. */
export const verdictReasons = {
  honeypot_filled: {
    meaning: "The hidden field was filled in, so the submission is held whatever its score.",
  },
  ...spamReasons,
} as const;

export type SpamReasonName = keyof typeof spamReasons;

/** A sign and how often it occurs; `true` is once. */
export type Sign = readonly [name: SpamReasonName, times: number | boolean];
