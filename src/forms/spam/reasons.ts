/** The reasons for a spam score, none of which contains the sender's text. This module is browser compatible. */

/** All reasons, in the order in which a verdict lists them, each with a sentence for operators and the documents. */
export const spamReasons = {
  blocked_words: { meaning: "The text contains words that are blocked for this form." },
  unreviewed: { meaning: "The submission has more fields than can be scored." },
  wording: { meaning: "The words are typical of spam." },
  links: { meaning: "The text contains links, other than to sites for listings and photos." },
  link_only: { meaning: "A message is little more than a link to an unfamiliar site." },
  link_in_name: { meaning: "A name, phone or address field contains a link." },
  link_shortener: { meaning: "A link hides its destination behind a shortening service." },
  link_odd_host: { meaning: "A link points to an IP address or a disguised host name." },
  link_disguised: { meaning: "A link is disguised from filters, for example with hxxp or [.]com." },
  link_markup: { meaning: "The text contains links in HTML or forum code, which people do not type." },
  chat_link: { meaning: "The text sends the reader to a chat account on Telegram or WhatsApp." },
  repeated_post: { meaning: "Other senders have posted the same text." },
  same_value: { meaning: "A name is also the message, the phone number or the address." },
  mixed_scripts: { meaning: "Words are spelled with look-alike letters of another alphabet." },
  spaced_letters: { meaning: "Words are spelled with spaces between their letters." },
  gibberish_name: { meaning: "A name is a string of random letters." },
  gibberish_text: { meaning: "A message or answer is a string of random letters." },
  gibberish_contact: { meaning: "The email address or phone number looks generated." },
  mail_unlike_name: { meaning: "The email address does not match the name." },
  too_fast: { meaning: "The form was sent faster than a person can fill it in." },
  disposable_mail: { meaning: "The email address belongs to a disposable email service." },
  template_left: { meaning: "The text has unfilled placeholders of a mass-mailing program." },
  attack_probe: { meaning: "A field contains code that probes websites for vulnerabilities." },
} as const satisfies Readonly<Record<string, { readonly meaning: string }>>;

/** The reasons for a verdict: those for the score, and the honeypot, which does not affect the score. */
export const verdictReasons = {
  honeypot_filled: {
    meaning: "The hidden field was filled in, so the submission is held whatever its score.",
  },
  ...spamReasons,
} as const;

export type SpamReasonName = keyof typeof spamReasons;

/** A signal of spam and how often it occurs; `true` counts as once. */
export type Signal = readonly [name: SpamReasonName, times: number | boolean];
