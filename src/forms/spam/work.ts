/**
 * What a text costs to score, told in steps before any of it is done. This module is browser compatible.
 *
 * A step is about what a plain letter costs in all parts of the score together: some 50 ns on the machine it was
 * measured on. Every part is linear in the folded text, its words and what could be links, so the steps of a text bound
 * all of them at once.
 *
 * @module
 */

/**
 * So many steps of a submission are judged.
 *
 * Chosen: 11,000 characters of prose, sixteen times the longest of a thousand labelled submissions, and about a
 * millisecond of processor, because scoring holds up everybody's requests for as long as it takes.
 */
export const judgedStepsMax = 24_000;

const wordSteps = 6;
/** What may be in a link, and asks to be read as one. */
const linkSteps: Readonly<Record<string, number>> = { ".": 14, ":": 10, "/": 5 };
const asciiSteps = Uint8Array.from(
  { length: 128 },
  (_, code) => 1 + (linkSteps[String.fromCharCode(code)] ?? 0),
);
/** A character that is not ASCII is normalized, whatever becomes of it. */
const wideSteps = 2;

/** How many characters folding makes of one at most, by ranges: first character, and width. */
const widths: readonly (readonly [from: number, width: number])[] = [
  [0, 1],
  // Fractions, ligatures.
  [0x80, 2],
  [0x100, 1],
  // Punctuation, numbers in circles and parentheses.
  [0x2000, 4],
  [0x2c00, 1],
  // Whole words in a square.
  [0x3200, 7],
  [0x3400, 1],
  // Hangul, into its letters.
  [0xac00, 3],
  [0xd800, 2],
  [0xe000, 1],
  [0xfb00, 4],
  // Two ligatures that stand for whole phrases.
  [0xfdfa, 18],
  [0xfdfc, 4],
  [0xff00, 1],
];
/** By character: a look-up costs less than a search, and every character of every submission is looked up. */
const widthByCode = new Uint8Array(0x10000);
for (const [from, width] of widths) widthByCode.fill(width, from);

/** The steps of the character at an index. */
function stepsAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 0x80) {
    const width = widthByCode[code] as number;
    // What becomes several words costs as much as they.
    return wideSteps + 2 * width + (width > 4 ? width * wordSteps / 2 : 0);
  }
  const steps = asciiSteps[code] as number;
  return isWordPart(code) && !isWordPart(text.charCodeAt(at - 1)) ? steps + wordSteps : steps;
}

/** An ASCII letter or digit. */
function isWordPart(code: number): boolean {
  return code >= 0x61 && code <= 0x7a || code >= 0x41 && code <= 0x5a || code >= 0x30 && code <= 0x39;
}

/** The steps of a text; where they are more than `most`, some number over it. */
export function stepsOf(text: string, most: number): number {
  let steps = 0;
  for (let at = 0; at < text.length && steps <= most; at++) steps += stepsAt(text, at);
  return steps;
}

/** A text's beginning and its end, where a pitch has its opening and its address, of at most so many steps. */
export function endsWithin(text: string, most: number): string {
  if (stepsOf(text, most) <= most) return text;
  const tail = lengthWithin(text, most / 4, -1);
  const head = lengthWithin(text, most - most / 4, 1);
  return `${text.slice(0, head)}\n${text.slice(text.length - tail)}`.toWellFormed();
}

/** How many characters from the beginning (1) or the end (-1) have at most so many steps. */
function lengthWithin(text: string, most: number, direction: 1 | -1): number {
  let left = most;
  for (let length = 0; length < text.length; length++) {
    left -= stepsAt(text, direction === 1 ? length : text.length - 1 - length);
    if (left < 0) return length;
  }
  return text.length;
}
