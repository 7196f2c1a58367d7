/**
 * The parts of a JSON text, valid or not, for colouring.
 *
 * @module
 */

/** What a part is. */
type TokenKind = "name" | "string" | "number" | "word" | "mark" | "space" | "other";

/** A part of the text. All of them in turn are the whole text. */
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

// Each alternative starts with a character of its own and none can match in two ways: linear on any text.
const part =
  /("(?:[^"\\\n]|\\[^\n])*"?)(?=(\s*:)?)|(-?\d[\w.+-]*)|(true|false|null)\b|([{}[\]:,]+)|(\s+)|[^\s"{}[\]:,\d-]+|[^]/g;

/** Takes a text apart. */
export function tokenize(text: string): Token[] {
  return Array.from(text.matchAll(part), (match): Token => {
    const [whole, string, colon, number, word, mark, space] = match;
    const kind = string !== undefined
      ? colon === undefined ? "string" : "name"
      : number !== undefined
      ? "number"
      : word !== undefined
      ? "word"
      : mark !== undefined
      ? "mark"
      : space !== undefined
      ? "space"
      : "other";
    return { kind, text: whole };
  });
}
