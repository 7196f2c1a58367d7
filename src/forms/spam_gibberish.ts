/**
 * Tells random letters from names and words, by which letters follow one another. This module is browser
 * compatible.
 *
 * @module
 */

import { foldText } from "./spam_fold.ts";
import type { ReadField, Reading } from "./spam_reading.ts";
import type { SpamReason } from "./spam_reasons.ts";

/**
 * The letters that follow each letter in English and Spanish words, and in names of the people who live in the
 * United States and Canada: Polish, Czech, Welsh, Vietnamese, Nahuatl, Arabic and Indian ones among them. A
 * string of random letters breaks it at every second step.
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
  z: "abcdeghiklmnortuvwyz",
};

const keyboardWalk =
  /asdf|sdfg|dfgh|fghj|ghjk|hjkl|jkl;|qwer|zxcv|xcvb|cvbn|vbnm|fdsa|gfds|hgfd|jhgf|kjhg|lkjh|rewq|vcxz|bvcx|mnbv/;
const letters = /^[a-z]+$/;
const vowel = /[aeiouy]/;
const vowels = /[aeiouy]/g;
const consonantRun = /[bcdfghjklmnpqrstvwxz]{6,}/;
const latinToken = /[A-Za-z]{8,64}/g;
/** Longer words are judged by their beginning. */
const judgedLettersMax = 40;

/** Scores random letters in names, answers and messages. */
export function scoreGibberish(reading: Reading): readonly SpamReason[] {
  const names = reading.filter(({ role }) => role === "name");
  const texts = reading.filter(({ role }) =>
    role === "message" || role === "answer" || role === "company" || role === "place"
  );
  const inNames = names.filter(({ words }) => words.some(isGibberish)).length;
  const inTexts = texts.reduce((sum, field) => sum + textPoints(field), 0);
  const inCase =
    reading.filter((field) => field.role !== "email" && field.role !== "link" && hasRandomCase(field)).length;
  return [
    { name: "gibberish_name", points: inNames === 0 ? 0 : inNames === 1 ? 28 : 40 },
    { name: "gibberish_text", points: Math.min(45, inTexts) },
    { name: "random_case", points: inCase === 0 ? 0 : inCase === 1 ? 35 : 60 },
  ];
}

/** A message of nothing else counts full; a strange word among others is a brand or a typing mistake. */
function textPoints({ role, words }: ReadField): number {
  const found = words.filter(isGibberish).length;
  if (found * 2 < words.length || found === 0) return 0;
  return role === "message" ? 30 : 15;
}

/** Tells whether a folded word is random letters. */
export function isGibberish(word: string): boolean {
  if (word.length < 5 || !letters.test(word)) return false;
  const judged = word.slice(0, judgedLettersMax);
  if (keyboardWalk.test(judged)) return true;
  let rare = 0;
  for (let at = 1; at < judged.length; at++) {
    if (!(followers[judged.charAt(at - 1)] as string).includes(judged.charAt(at))) rare++;
  }
  const share = rare / (judged.length - 1);
  if (rare >= 3 && share >= 0.27 || rare >= 2 && share >= 0.4) return true;
  if (judged.length >= 7 && !vowel.test(judged)) return true;
  const vowelShare = (judged.match(vowels)?.length ?? 0) / judged.length;
  return judged.length >= 8 && rare >= 1 && (vowelShare < 0.2 || consonantRun.test(judged));
}

/** Tells whether a field has a token such as `RGYSKbmUNdDqrHzm`; `JoAnnMcDonald` and `HomeAdvisor` are none. */
function hasRandomCase({ text }: ReadField): boolean {
  for (const [token] of text.slice(0, 20_000).matchAll(latinToken)) if (isRandomCase(token)) return true;
  return false;
}

function isRandomCase(token: string): boolean {
  const humps = token.split(/(?<=[a-z])(?=[A-Z])/);
  if (humps.length < 3) return false;
  const neat =
    humps.filter((hump) =>
      /^[A-Za-z][a-z]+$/.test(hump) && vowel.test(foldText(hump)) || /^(Mc|St)$/.test(hump)
    ).length;
  return humps.length - neat >= 2 || humps.length >= 5 && humps.length - neat >= 1 || humps.length >= 6;
}
