/**
 * Text without its disguises, so that words are found however they are spelled. Linear in the text. This module
 * is browser compatible.
 *
 * @module
 */

import { locales } from "./locale/locales.ts";

const marks = /\p{M}+/gu;
/** Invisible, and no part of any word: zero-width characters, soft hyphen, direction and variation marks. */
const invisible = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const word = /[\p{L}\p{N}]+/gu;
const mixed = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const latin = /[a-z]/;
const special: ReadonlyMap<string, string> = new Map(
  Object.entries({ ł: "l", đ: "d", ø: "o", ı: "i", æ: "ae", œ: "oe", ß: "ss", ð: "d", þ: "th", ħ: "h" }),
);
const specials = /[łđøıæœßðþħ]/g;

/** Letters of other alphabets that look like Latin ones, lower case. */
const lookAlikes: ReadonlyMap<string, string> = new Map([
  ...pairs("аaеeоoрpсcуyхxіiјjѕsԁdԛqԝwһhьbкkмmтtнhвbгrпnиuзe"),
  ...pairs("αaοoρpνvυuιiκkτtηnεeχxγyωwμu"),
]);

/** Folds case, accents, compatibility forms (full-width, decorative), look-alikes and invisible characters. */
export function foldText(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  // Marks first: ordering a long run of them is quadratic in Unicode's normalization.
  return text.replace(marks, "").normalize("NFKD").replace(marks, "").replace(invisible, "").toLowerCase()
    .replace(marks, "").replace(specials, (letter) => special.get(letter) ?? letter)
    .replace(word, (found) => mixed.test(found) && latin.test(found) ? unmask(found) : found);
}

/** No word that was spaced out begins with these: "I" and "a" in a row, "I'm a". */
const loneLetters = new Set(locales.flatMap((locale) => locale.loneLetters));

/** The words of a folded text: runs of letters and digits, with letters that were spaced out put together. */
export function wordsOf(folded: string): readonly string[] {
  const found = folded.match(word) ?? [];
  const words: string[] = [];
  for (let at = 0; at < found.length;) {
    let end = at;
    while (end < found.length && (found[end] as string).length === 1) end++;
    // C A S I N O and s.e.o; two letters in a row are "I" and "a", or a pair of initials.
    if (end - at >= 3 && !loneLetters.has(found[at] as string)) words.push(found.slice(at, end).join(""));
    else {
      end = Math.max(end, at + 1);
      for (let one = at; one < end; one++) words.push(plainDigits(found[one] as string));
    }
    at = end;
  }
  return words;
}

/** `v1agra` is `viagra`; `24x36` and `2nd` are left alone. */
function plainDigits(found: string): string {
  if (!/^[a-z]+[0134][a-z]{2,}/.test(found)) return found;
  return found.replaceAll("0", "o").replaceAll("1", "i").replaceAll("3", "e").replaceAll("4", "a");
}

/** Tells whether every letter of another alphabet in a folded word has a Latin twin, so that it may be a disguise. */
export function isLookAlike(letter: string): boolean {
  return lookAlikes.has(letter);
}

function unmask(found: string): string {
  return [...found].map((letter) => lookAlikes.get(letter) ?? letter).join("");
}

/** Tells whether a text has ASCII characters only, so that it has no disguises. */
export function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7e) return false;
  return true;
}

function pairs(text: string): [string, string][] {
  const letters = [...text];
  return letters.flatMap((letter, at): [string, string][] =>
    at % 2 === 0 ? [[letter, letters[at + 1] as string]] : []
  );
}
