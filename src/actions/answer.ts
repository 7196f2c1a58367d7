/**
 * What the other side answered, as far as an operator gets to see it.
 *
 * @module
 */

/** How much of an answer's body is kept: enough to say what it did not like, too little to be a copy of the lead. */
export const answerBytesMax = 200;

/**
 * The beginning of an answer as one line of text: its first 200 bytes as UTF-8, cut before a character that they do not
 * hold whole. What is no UTF-8 is replaced, and so are control characters, so that the store takes it and no terminal
 * obeys it.
 *
 * Source: DECISIONS, Decided since (Effects shown to the operator).
 */
export function answerText(body: Uint8Array): string {
  const decoder = new TextDecoder();
  // As a stream: a character whose rest is missing is left out instead of replaced.
  const text = decoder.decode(body.subarray(0, answerBytesMax), { stream: body.length > answerBytesMax });
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
