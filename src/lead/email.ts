/**
 * The shape of an email address. This module is browser compatible.
 *
 * @module
 */

/**
 * Tells whether a text looks like an address: one `@` with something before it, no white space, a
 * dotted domain without an empty label. Not RFC 5322, and nothing asks whether mail would arrive.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 *
 * Chosen: the part before the `@` may hold anything, dots in a row too, because addresses like that
 * receive mail; only a domain has labels.
 */
export function looksLikeEmail(text: string): boolean {
  const at = text.indexOf("@");
  if (at < 1 || at !== text.lastIndexOf("@") || /\p{White_Space}/u.test(text)) return false;
  const labels = text.slice(at + 1).split(".");
  return labels.length > 1 && !labels.includes("");
}
