/** Recognizes random letters by their sequence. This module is browser compatible. */

import { fieldsOf, type ReadField, type Reading } from "./reading.ts";
import type { Sign } from "./reasons.ts";

/**
 * The letters that follow each letter in English and Spanish words and in names common in the United States and
 * Canada, whatever their origin. Random letters break it at every second step.
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
/** Only the beginning of a longer word counts. */
const lettersMax = 40;

/** Random letters in names, answers and messages. */
export function gibberishSigns(reading: Reading): readonly Sign[] {
  const names = fieldsOf(reading, "name");
  const texts = fieldsOf(reading, "message", "answer", "company", "place");
  return [
    ["gibberish_name", names.some(({ words }) => words.some((word) => isGibberish(word)))],
    ["gibberish_text", texts.filter(isRandom).length],
  ];
}

/** At least half of the words: a single strange one is a brand or a typo. */
function isRandom({ words }: ReadField): boolean {
  const found = words.filter((word) => isGibberish(word, { alone: words.length <= 3 })).length;
  return found > 0 && found * 2 >= words.length;
}

/** Whether a folded word is random letters; one `alone` in a message needs fewer signs than a name. */
export function isGibberish(word: string, options: { readonly alone?: boolean } = {}): boolean {
  if (word.length < 4 || !letters.test(word)) return false;
  const start = word.slice(0, lettersMax);
  if (keyboardWalk.test(start)) return true;
  if (word.length < 5) return false;
  let rare = 0;
  for (let at = 1; at < start.length; at++) {
    if (!(followers[start.charAt(at - 1)] as string).includes(start.charAt(at))) rare++;
  }
  const share = rare / (start.length - 1);
  if (rare >= 3 && share >= 0.27 || rare >= 2 && share >= 0.4) return true;
  if (options.alone === true && rare >= 2 && share >= 0.18) return true;
  if (start.length >= 7 && !vowel.test(start)) return true;
  const vowelShare = (start.match(vowels)?.length ?? 0) / start.length;
  return start.length >= 8 && rare >= 1 && (vowelShare < 0.15 || consonantRun.test(start));
}
