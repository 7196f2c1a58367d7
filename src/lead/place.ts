/**
 * Where the job is: country, state, postal code, and the part of the home. The functions take text
 * that `normalizeLine` has been over. This module is browser compatible.
 *
 * @module
 */

import { countrySynonyms } from "../contract/fields.ts";
import { isLongerThan, normalizeLine } from "./text.ts";

/** Names of countries that are mapped, in lower case. */
const countryNames: ReadonlyMap<string, string> = new Map(
  Object.entries(countrySynonyms).flatMap(([code, names]) =>
    names.map((name) => [name.toLowerCase(), code] as const)
  ),
);

/** Cheaper than counting runes, and most countries are two ASCII letters. */
const twoLetters = /^[A-Za-z]{2}$/;
const canadianCode = /^([A-Za-z]\d[A-Za-z])[ -]?(\d[A-Za-z]\d)$/;
const nineDigits = /^\d{9}$/;

/**
 * Normalizes a country: a name of the specification's becomes its code, two characters are
 * upper-cased; `null` for anything else, which is kept as sent and flagged.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 *
 * Chosen: two characters whose upper case has another length (`ß1`) stay as they are, because the
 * stored value must be two characters still, and normal a second time.
 */
export function normalizeCountry(text: string): string | null {
  if (twoLetters.test(text)) return text.toUpperCase();
  const mapped = countryNames.get(text.toLowerCase());
  if (mapped !== undefined) return mapped;
  if (!isTwoRunes(text)) return null;
  const upper = text.toUpperCase();
  return isTwoRunes(upper) ? upper : text;
}

/** Upper-cases a state of exactly two ASCII letters; anything else is left alone. Source: SPEC, Lead envelope. */
export function normalizeState(text: string): string {
  return twoLetters.test(text) ? text.toUpperCase() : text;
}

/**
 * Spells a postal code: nine bare digits in the US become `NNNNN-NNNN`; a Canadian code becomes
 * `ANA NAN`, whatever the country; anything else is left alone. `country` is the normalized one.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 */
export function normalizeZip(text: string, country: string): string {
  if (country === "US" && nineDigits.test(text)) return `${text.slice(0, 5)}-${text.slice(5)}`;
  const canadian = canadianCode.exec(text);
  return canadian === null ? text : `${canadian[1]} ${canadian[2]}`.toUpperCase();
}

/**
 * Folds a term of `project_area` to the key it is looked up by, so that case and surrounding space do
 * not matter. Whoever fills an `Areas` map uses this function for its keys.
 */
export function foldArea(text: string): string {
  return normalizeLine(text).toLowerCase();
}

function isTwoRunes(text: string): boolean {
  return isLongerThan(text, 1) && !isLongerThan(text, 2);
}
