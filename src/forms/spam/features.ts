/**
 * What the model weighs in a text: its words, pairs of words and pieces of words, each a place in a fixed table. This module
 * is browser compatible.
 */

import { mix, readWords } from "./words.ts";

/** Places in the table of weights. */
export const places = 1 << 17;

/** A word or a pair of words, or a piece of a word. Each family is weighed by its own number. */
export type Family = 0 | 1;
export const families = 2;

const pairSeed = 0x9e3779b9 | 0;
const pieceSeed = 0x85ebca6b | 0;
/** Scripts that are written without blanks. */
const wideFrom = 0x2e80;
/** A longer word is judged by its beginning. */
const pieceLettersMax = 24;

const placeOf = (hash: number): number => (hash ^ hash >>> 17 ^ hash >>> 9) & places - 1;

/**
 * Tells the features of folded text: the place, its family, the letters that it stands for, and the hash of 32 bits that the place is made of. `word` is called after the
 * features of each word.
 */
export interface FeatureSink {
  feature(place: number, family: Family, from: number, to: number, hash: number): void;
  word(): void;
}

/** Reads the features of `codes` up to `length`. */
export function readFeatures(codes: Uint16Array, length: number, sink: FeatureSink): void {
  let before = 0;
  let beforeFrom = 0;
  readWords(codes, length, {
    word(hash, _exact, from, to, isHost) {
      // Which domain it is says little, and would be learned by heart.
      if (isHost) return;
      sink.feature(placeOf(hash), 0, from, to, hash);
      if (before !== 0) {
        const pair = mix(mix(pairSeed, before), hash);
        sink.feature(placeOf(pair), 0, beforeFrom, to, pair);
      }
      before = hash;
      beforeFrom = from;
      readPieces(codes, from, to, sink);
      sink.word();
    },
  });
}

/** Four letters each, the blanks around the word among them; two of a script without blanks. */
function readPieces(codes: Uint16Array, from: number, end: number, sink: FeatureSink): void {
  const to = Math.min(end, from + pieceLettersMax);
  const isWide = (codes[from] as number) >= wideFrom;
  const size = isWide ? 2 : 4;
  for (let start = isWide ? from : from - 1; start + size <= to + 1; start++) {
    let hash = pieceSeed;
    for (let index = start; index < start + size; index++) {
      const code = index < from || index >= to ? 32 : codes[index] as number;
      hash = mix(hash, code >= 48 && code <= 57 ? 48 : code);
    }
    sink.feature(placeOf(hash), 1, from, end, hash);
    if (to - from < size - 1) break;
  }
}
