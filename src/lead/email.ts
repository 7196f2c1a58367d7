/**
 * The shape of an email address. This module is browser compatible.
 *
 * @module
 */

const whiteSpace = /\p{White_Space}/u;

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
  if (at < 1 || text.includes("@", at + 1) || whiteSpace.test(text)) return false;
  const dot = text.lastIndexOf(".");
  return dot > at + 1 && dot < text.length - 1 && text[at + 1] !== "." && !text.includes("..", at);
}
