/**
 * Email address shapes. This module is browser compatible.
 *
 * @module
 */

const whiteSpace = /\p{White_Space}/u;

/**
 * Whether a text looks like an address: one `@` after at least one character, no white space, a dotted domain without
 * an empty label. The part before the `@` may hold anything else, because such addresses receive mail.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 */
export function looksLikeEmail(text: string): boolean {
  const at = text.indexOf("@");
  if (at < 1 || text.includes("@", at + 1) || whiteSpace.test(text)) return false;
  const dot = text.lastIndexOf(".");
  return dot > at + 1 && dot < text.length - 1 && text[at + 1] !== "." && !text.includes("..", at);
}
