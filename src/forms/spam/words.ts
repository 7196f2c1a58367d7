/** The words of folded text, as hashes. This module is browser compatible. */

import { gap } from "./fold.ts";

export interface WordSink {
  /**
   * A word, or letters that were spaced out; its range of codes; `isHost` if it follows a dot without a space
   * (`shop.example`). `hash` ignores the values of digits, `exact` does not; both are 32 bits.
   */
  word(hash: number, exact: number, from: number, to: number, isHost: boolean): void;
}

const dot = 46;
const at = 64;
/** 0, 1, 3 and 4 as the letters that they replace. */
const twins: ReadonlyMap<number, number> = new Map([[48, 111], [49, 105], [51, 101], [52, 97]]);
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLatin = (code: number): boolean => code >= 97 && code <= 122;

/** The next state of a 32-bit hash. */
export const mix = (hash: number, code: number): number => {
  const mixed = Math.imul(hash ^ code, 0x01000193);
  return mixed ^ mixed >>> 15;
};
export const hashStart = 0x811c9dc5 | 0;

/** Reads the words of `codes` up to `length`; changes `codes`: the digit in `v1agra` becomes a letter. */
export function readWords(codes: Uint16Array, length: number, sink: WordSink): void {
  // Spaced-out letters: "c.a.s.i.n.o", "s e o".
  let row = 0;
  let rowFrom = 0;
  let joined = hashStart;
  const endRow = (end: number) => {
    if (row >= 3) sink.word(joined, joined, rowFrom, end, false);
    row = 0;
    joined = hashStart;
  };
  for (let from = 0; from < length;) {
    const first = codes[from] as number;
    if (first === gap || first === dot || first === at) {
      from++;
      continue;
    }
    let to = from + 1;
    let digits = isDigit(first) ? 1 : 0;
    for (; to < length; to++) {
      const code = codes[to] as number;
      if (code === gap || code === dot || code === at) break;
      if (isDigit(code)) digits++;
    }
    if (to - from === 1 && digits === 0) {
      if (row === 0) rowFrom = from;
      row++;
      joined = mix(joined, first);
    } else {
      endRow(from);
      if (digits > 0 && digits < to - from) undoDigits(codes, from, to);
    }
    const isHost = from >= 2 && codes[from - 1] === dot && codes[from - 2] !== gap && to - from > 1;
    let exact = hashStart;
    for (let index = from; index < to; index++) exact = mix(exact, codes[index] as number);
    const hash = digits === 0 ? exact : withoutDigits(codes, from, to);
    sink.word(hash, exact, from, to, isHost);
    from = to;
  }
  endRow(length);
}

/** A word's hash with all digits alike. */
function withoutDigits(codes: Uint16Array, from: number, to: number): number {
  let hash = hashStart;
  for (let index = from; index < to; index++) {
    const code = codes[index] as number;
    hash = mix(hash, isDigit(code) ? 48 : code);
  }
  return hash;
}

/** `v1agra` is `viagra`; `24x36` and `2nd` are left alone. */
function undoDigits(codes: Uint16Array, from: number, to: number): void {
  if (!isLatin(codes[from] as number) || !isLatin(codes[to - 1] as number)) return;
  for (let index = from + 1; index < to - 1; index++) {
    const letter = twins.get(codes[index] as number);
    if (letter !== undefined) codes[index] = letter;
  }
}
