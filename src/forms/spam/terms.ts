/**
 * The words of all languages together, made ready to be looked up. This module is browser compatible.
 *
 * @module
 */

import { foldText } from "./fold.ts";
import type { Locale, Terms } from "./locale/locale.ts";
import { locales } from "./locale/locales.ts";

/** One list of every language, folded as the texts are. */
export function termsOf(pick: (locale: Locale) => Terms): Terms {
  return locales.flatMap(pick).map(foldText);
}

/** Tells whether a folded word is among the terms; `rank*` is any word that begins so. */
export function oneOf(terms: Terms): (word: string) => boolean {
  const whole = new Set(terms.filter((term) => !term.endsWith("*")));
  const starts = terms.filter((term) => term.endsWith("*")).map((term) => term.slice(0, -1));
  if (starts.length === 0) return (word) => whole.has(word);
  const start = new RegExp(`^(?:${starts.join("|")})`);
  return (word) => whole.has(word) || start.test(word);
}

/** {@linkcode oneOf} of one list of every language. */
export function wordIn(pick: (locale: Locale) => Terms): (word: string) => boolean {
  return oneOf(termsOf(pick));
}

/** One list of every language as a group of a pattern. */
export function groupOf(pick: (locale: Locale) => Terms): string {
  return `(?:${termsOf(pick).join("|")})`;
}
