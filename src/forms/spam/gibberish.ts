/** Recognizes random letters by pairs of letters that are rare in words. This module is browser compatible. */

import { fieldsWithRole, type ParsedField, type ParsedSubmission } from "./parse.ts";
import type { Signal } from "./reasons.ts";

/**
 * The letters that follow each letter in English and Spanish words, and in common names in the United States and Canada.
 * About a quarter of all pairs of letters are not listed.
 */
const followers: Readonly<Record<string, string>> = {
  a: "abcdefghijklmnopqrstuvwxyz",
  b: "abcdehijlmorstuyz",
  c: "acehiklnoqrstuyz",
  d: "abdeghijlmnorstuvwyz",
  e: "abcdefghijklmnopqrstuvwxyz",
  f: "abefijlorstuy",
  g: "abdeghilmnorstuwyz",
  h: "abdeijklmnorstuvwyz",
  i: "abcdefghjklmnopqrstuvxyz",
  j: "adehijkmnorstuwy",
  k: "abehijklmnorstuvwyz",
  l: "abcdefghijklmnoprstuvwyz",
  m: "abcdefhiklmnoprstuvwyz",
  n: "abcdefghijklmnopqrstuvwxyz",
  o: "abcdefghijklmnopqrstuvwxyz",
  p: "acdefhijklmnoprstuyz",
  q: "aiuv",
  r: "abcdefghijklmnopqrstuvwyz",
  s: "abcdefghijklmnopqrstuvwyz",
  t: "abcdefghijklmnoprstuvwyz",
  u: "abcdefghijklmnopqrstuvwxyz",
  v: "aeghiklnorsuyz",
  w: "abdehiklnorstuyz",
  x: "acehioptuxy",
  y: "abcdeghiklmnoprstuvwxz",
  z: "abcdeghiklmnorstuvwyz",
};

const keyboardWalk =
  /asdf|sdfg|dfgh|fghj|ghjk|hjkl|jkl;|qwer|zxcv|xcvb|cvbn|vbnm|fdsa|gfds|hgfd|jhgf|kjhg|lkjh|rewq|vcxz|bvcx|mnbv|poiu|ghjg|jghj|fghf|sdfs|dfsd|jkjk|oiuy|iuyt|uytr/;
const letters = /^[a-z]+$/;
const vowel = /[aeiouy]/;
const vowels = /[aeiouy]/g;
const consonantRun = /[bcdfghjklmnpqrstvwxz]{6,}/;
/** The number of letters at the start of a word that are examined. */
const lettersMax = 40;

/** Returns the signals for random letters in names and in other text fields. */
export function gibberishSignals(parsed: ParsedSubmission): readonly Signal[] {
  const names = fieldsWithRole(parsed, "name");
  const texts = fieldsWithRole(parsed, "message", "text", "answer", "company", "place");
  return [
    ["gibberish_name", names.some(({ words }) => words.some((word) => isGibberish(word)))],
    ["gibberish_text", texts.filter(isRandom).length],
  ];
}

/** Whether at least half of the words are random letters; a single one may be a brand or a typo. */
function isRandom({ words }: ParsedField): boolean {
  const count = words.filter((word) => isGibberish(word, { isShortText: words.length <= 3 })).length;
  return count > 0 && count * 2 >= words.length;
}

/** Whether a folded word consists of random letters. In a short text, a smaller share of rare pairs suffices. */
export function isGibberish(word: string, options: { readonly isShortText?: boolean } = {}): boolean {
  if (word.length < 4 || !letters.test(word)) return false;
  const start = word.slice(0, lettersMax);
  if (keyboardWalk.test(start)) return true;
  if (word.length < 5) return false;
  let rarePairs = 0;
  for (let at = 1; at < start.length; at++) {
    if (!(followers[start.charAt(at - 1)] as string).includes(start.charAt(at))) rarePairs++;
  }
  const share = rarePairs / (start.length - 1);
  if (rarePairs >= 3 && share >= 0.27 || rarePairs >= 2 && share >= 0.4) return true;
  if (options.isShortText === true && rarePairs >= 2 && share >= 0.18) return true;
  if (start.length >= 7 && !vowel.test(start)) return true;
  const vowelShare = (start.match(vowels)?.length ?? 0) / start.length;
  return start.length >= 8 && rarePairs >= 1 && (vowelShare < 0.15 || consonantRun.test(start));
}
