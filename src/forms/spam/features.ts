/** Extracts the features of a text: words, pairs of words, and character n-grams. This module is browser compatible. */

import { mix, readWords } from "./words.ts";

/** The number of buckets in the table of weights. */
export const bucketCount = 1 << 17;

/** A family of features: 0 for words and pairs of words, 1 for character n-grams. */
export type Family = 0 | 1;
export const familyCount = 2;

const pairSeed = 0x9e3779b9 | 0;
const ngramSeed = 0x85ebca6b | 0;
/** The lowest code of East Asian scripts. */
const wideCodeMin = 0x2e80;
/** The number of letters at the start of a word from which n-grams are read. */
const ngramLettersMax = 24;

const bucketOf = (hash: number): number => (hash ^ hash >>> 17 ^ hash >>> 9) & bucketCount - 1;

/** Receives each feature's bucket, family, range of codes and 32-bit hash; `word` follows each word's features. */
interface FeatureSink {
  feature(bucket: number, family: Family, from: number, to: number, hash: number): void;
  word(): void;
}

/** Reads the features in the first `length` codes. */
export function readFeatures(codes: Uint16Array, length: number, sink: FeatureSink): void {
  let before = 0;
  let beforeFrom = 0;
  readWords(codes, length, {
    word(hash, _exact, from, to, isHost) {
      // The rest of a host name is no evidence of spam, and the model would memorize it.
      if (isHost) return;
      sink.feature(bucketOf(hash), 0, from, to, hash);
      if (before !== 0) {
        const pair = mix(mix(pairSeed, before), hash);
        sink.feature(bucketOf(pair), 0, beforeFrom, to, pair);
      }
      before = hash;
      beforeFrom = from;
      readNgrams(codes, from, to, sink);
      sink.word();
    },
  });
}

/** Reads a word's 4-grams, with the spaces around it, or its 2-grams in East Asian scripts. */
function readNgrams(codes: Uint16Array, from: number, end: number, sink: FeatureSink): void {
  const to = Math.min(end, from + ngramLettersMax);
  const isWide = (codes[from] as number) >= wideCodeMin;
  const size = isWide ? 2 : 4;
  for (let start = isWide ? from : from - 1; start + size <= to + 1; start++) {
    let hash = ngramSeed;
    for (let index = start; index < start + size; index++) {
      const code = index < from || index >= to ? 32 : codes[index] as number;
      hash = mix(hash, code >= 48 && code <= 57 ? 48 : code);
    }
    sink.feature(bucketOf(hash), 1, from, end, hash);
    if (to - from < size - 1) break;
  }
}
