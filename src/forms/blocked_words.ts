/** Finds a form's blocked words in a text. This module is browser compatible. */

import { foldInto } from "./spam/fold.ts";
import { readWords } from "./spam/words.ts";

/** Matches a character in a script that has no spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

interface PhraseIndex {
  /** The phrases as lists of word hashes, by their first hash. */
  readonly byFirstHash: ReadonlyMap<number, readonly (readonly number[])[]>;
  /** The phrases, in lower case, that match anywhere in a text. */
  readonly substrings: readonly string[];
}

/** The index of each list, cached because a list has up to 500 phrases. */
const indexes = new WeakMap<readonly string[], PhraseIndex>();

/** Whether a text contains a blocked word or phrase; `folded` is the folded text. */
export function hasBlocked(blocked: readonly string[], text: string, folded: Uint16Array): boolean {
  const { byFirstHash, substrings } = phraseIndex(blocked);
  const words = byFirstHash.size === 0 ? new Int32Array() : wordHashes(folded);
  for (let at = 0; at < words.length; at++) {
    const phrases = byFirstHash.get(words[at] as number);
    if (phrases?.some((phrase) => phrase.every((word, offset) => word === words[at + offset]))) return true;
  }
  const lower = substrings.length === 0 ? "" : text.toLowerCase();
  return substrings.some((phrase) => lower.includes(phrase));
}

function phraseIndex(blocked: readonly string[]): PhraseIndex {
  const cached = indexes.get(blocked);
  if (cached !== undefined) return cached;
  const byFirstHash = new Map<number, number[][]>();
  const substrings: string[] = [];
  for (const phrase of blocked) {
    const codes = new Uint16Array(phrase.length);
    const words = [...wordHashes(codes.subarray(0, foldInto(codes, phrase.toWellFormed())))];
    const [first] = words;
    if (first !== undefined && !unspaced.test(phrase)) {
      byFirstHash.set(first, [...byFirstHash.get(first) ?? [], words]);
    } else if (phrase.trim() !== "") substrings.push(phrase.trim().toLowerCase());
  }
  const index = { byFirstHash, substrings };
  indexes.set(blocked, index);
  return index;
}

/** A reused buffer, because a growing array takes ten times as long. */
let hashes = new Int32Array(1 << 12);

function wordHashes(folded: Uint16Array): Int32Array {
  // Twice the length is enough: a word has at least one code, and three single letters or more form one further word.
  while (hashes.length < 2 * folded.length) hashes = new Int32Array(2 * hashes.length);
  let count = 0;
  readWords(folded, folded.length, { word: (_hash, exact) => void (hashes[count++] = exact) });
  return hashes.subarray(0, count);
}
