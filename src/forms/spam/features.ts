/** The features of a text: words, pairs and pieces of words. This module is browser compatible. */

import { mix, readWords } from "./words.ts";

/** The size of the table of weights. */
export const places = 1 << 17;

/** 0: words and pairs of words. 1: pieces of words. */
export type Family = 0 | 1;
export const families = 2;

const pairSeed = 0x9e3779b9 | 0;
const pieceSeed = 0x85ebca6b | 0;
/** The first character of scripts without spaces. */
const wideFrom = 0x2e80;
/** Only the beginning of a longer word counts. */
const pieceLettersMax = 24;

const placeOf = (hash: number): number => (hash ^ hash >>> 17 ^ hash >>> 9) & places - 1;

/** Receives place, family, range of letters and 32-bit hash of each feature; `word` follows the features of a word. */
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
      // A domain says little, and the model would learn it by heart.
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

/** Four letters each, with the blanks around the word; two in scripts without spaces. */
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
