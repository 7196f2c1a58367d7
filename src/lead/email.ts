/** Checks the shape of email addresses. This module is browser compatible. */

const whiteSpace = /\p{White_Space}/u;

/**
 * Whether a text has one `@` after at least one character, no white space, and a dotted domain without an empty
 * label. Source: SPEC and DECISIONS, The lead envelope.
 */
export function looksLikeEmail(text: string): boolean {
  const at = text.indexOf("@");
  if (at < 1 || text.includes("@", at + 1) || whiteSpace.test(text)) return false;
  const dot = text.lastIndexOf(".");
  return dot > at + 1 && dot < text.length - 1 && text[at + 1] !== "." && !text.includes("..", at);
}
