/** Reads the words in folded text as hashes. This module is browser compatible. */

import { atSign, dot, gap } from "./fold.ts";

interface WordSink {
  /**
   * Receives a word, or spaced-out letters, and its range of codes. `isHost`: whether a dot joins the word to the text
   * before it (`example` in `shop.example`). The 32-bit `hash` ignores the values of digits; `exact` does not.
   */
  word(hash: number, exact: number, from: number, to: number, isHost: boolean): void;
}

/** The letters that 0, 1, 3 and 4 replace. */
const digitLetters: ReadonlyMap<number, number> = new Map([[48, 111], [49, 105], [51, 101], [52, 97]]);
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLatin = (code: number): boolean => code >= 97 && code <= 122;

/** Returns the next state of a 32-bit hash. */
export const mix = (hash: number, code: number): number => {
  const mixed = Math.imul(hash ^ code, 0x01000193);
  return mixed ^ mixed >>> 15;
};
export const hashStart = 0x811c9dc5 | 0;

/** Reads the words in the first `length` codes; in `codes`, replaces digits inside words (`v1agra`) with letters. */
export function readWords(codes: Uint16Array, length: number, sink: WordSink): void {
  // Three or more single letters are one word: "c.a.s.i.n.o", "s e o".
  const letters: number[] = [];
  const endLetters = (end: number) => {
    const [from] = letters;
    if (from === undefined) return;
    if (letters.length >= 3) {
      const joined = letters.reduce((hash, at) => mix(hash, codes[at] as number), hashStart);
      sink.word(joined, joined, from, end, false);
    } else {
      for (const at of letters) {
        const hash = mix(hashStart, codes[at] as number);
        sink.word(hash, hash, at, at + 1, false);
      }
    }
    letters.length = 0;
  };
  for (let from = 0; from < length;) {
    const first = codes[from] as number;
    if (first === gap || first === dot || first === atSign) {
      from++;
      continue;
    }
    let to = from + 1;
    let digits = isDigit(first) ? 1 : 0;
    for (; to < length; to++) {
      const code = codes[to] as number;
      if (code === gap || code === dot || code === atSign) break;
      if (isDigit(code)) digits++;
    }
    if (to - from === 1 && digits === 0) {
      letters.push(from);
      from = to;
      continue;
    }
    endLetters(from);
    if (digits > 0 && digits < to - from) replaceDigits(codes, from, to);
    const isHost = from >= 2 && codes[from - 1] === dot && codes[from - 2] !== gap && to - from > 1;
    let exact = hashStart;
    for (let index = from; index < to; index++) exact = mix(exact, codes[index] as number);
    const hash = digits === 0 ? exact : hashWithEqualDigits(codes, from, to);
    sink.word(hash, exact, from, to, isHost);
    from = to;
  }
  endLetters(length);
}

/** Returns the hash of a word with every digit replaced by 0. */
function hashWithEqualDigits(codes: Uint16Array, from: number, to: number): number {
  let hash = hashStart;
  for (let index = from; index < to; index++) {
    const code = codes[index] as number;
    hash = mix(hash, isDigit(code) ? 48 : code);
  }
  return hash;
}

/** Replaces digits inside a word (`v1agra`) with letters, but not in `24x36` or `2nd`. */
function replaceDigits(codes: Uint16Array, from: number, to: number): void {
  if (!isLatin(codes[from] as number) || !isLatin(codes[to - 1] as number)) return;
  for (let index = from + 1; index < to - 1; index++) {
    const letter = digitLetters.get(codes[index] as number);
    if (letter !== undefined) codes[index] = letter;
  }
}
