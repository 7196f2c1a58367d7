/** The form's own blocked words. This module is browser compatible. */

import { foldInto } from "./spam/fold.ts";
import { readWords } from "./spam/words.ts";

/** Scripts written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

interface Blocked {
  /** The hashes of a phrase's words, by the first. */
  readonly byFirst: ReadonlyMap<number, readonly (readonly number[])[]>;
  /** Folded, and matched anywhere. */
  readonly anywhere: readonly string[];
}

/** A cache: forms are read every few seconds and hold up to 500 words. */
const indexes = new WeakMap<readonly string[], Blocked>();

/** Whether a text, as sent and folded, contains one of the blocked words or phrases. */
export function hasBlocked(blocked: readonly string[], text: string, folded: Uint16Array): boolean {
  const { byFirst, anywhere } = indexOf(blocked);
  const words = byFirst.size === 0 ? new Int32Array() : hashesOf(folded);
  for (let at = 0; at < words.length; at++) {
    const phrases = byFirst.get(words[at] as number);
    if (phrases?.some((phrase) => phrase.every((one, offset) => one === words[at + offset]))) return true;
  }
  const lower = anywhere.length === 0 ? "" : text.toLowerCase();
  return anywhere.some((phrase) => lower.includes(phrase));
}

function indexOf(blocked: readonly string[]): Blocked {
  const known = indexes.get(blocked);
  if (known !== undefined) return known;
  const byFirst = new Map<number, number[][]>();
  const anywhere: string[] = [];
  for (const phrase of blocked) {
    const codes = new Uint16Array(phrase.length);
    const words = [...hashesOf(codes.subarray(0, foldInto(codes, phrase.toWellFormed())))];
    const [first] = words;
    if (first !== undefined && !unspaced.test(phrase)) {
      byFirst.set(first, [...byFirst.get(first) ?? [], words]);
    } else if (phrase.trim() !== "") anywhere.push(phrase.trim().toLowerCase());
  }
  const index = { byFirst, anywhere };
  indexes.set(blocked, index);
  return index;
}

/** A buffer, overwritten by the next call: a growing array takes ten times as long. */
let hashes = new Int32Array(1 << 12);

function hashesOf(folded: Uint16Array): Int32Array {
  // Each word has a letter of its own; three single letters are one more word.
  while (hashes.length < 2 * folded.length) hashes = new Int32Array(2 * hashes.length);
  let count = 0;
  readWords(folded, folded.length, { word: (_hash, exact) => void (hashes[count++] = exact) });
  return hashes.subarray(0, count);
}
