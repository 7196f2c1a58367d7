/**
 * Country, state, postal code and project area, from text that `normalizeLine` returned. This module is browser
 * compatible.
 */

import { countrySynonyms } from "../contract/fields.ts";
import { isLongerThan, normalizeLine } from "./text.ts";

const countryNames: ReadonlyMap<string, string> = new Map(
  Object.entries(countrySynonyms).flatMap(([code, names]) =>
    names.map((name) => [name.toLowerCase(), code] as const)
  ),
);

/** Most countries; cheaper than counting runes. */
const twoLetters = /^[A-Za-z]{2}$/;
const canadianCode = /^([A-Za-z]\d[A-Za-z])[ -]?(\d[A-Za-z]\d)$/;
const nineDigits = /^\d{9}$/;

/**
 * Maps a name to its code and upper-cases two characters (unless that is longer: `ß1`); `null` for anything else.
 * Source: SPEC and DECISIONS, The lead envelope.
 */
export function normalizeCountry(text: string): string | null {
  if (twoLetters.test(text)) return text.toUpperCase();
  const mapped = countryNames.get(text.toLowerCase());
  if (mapped !== undefined) return mapped;
  if (!isTwoRunes(text)) return null;
  const upper = text.toUpperCase();
  return isTwoRunes(upper) ? upper : text;
}

/** Upper-cases a state of two ASCII letters. Source: SPEC, Lead envelope. */
export function normalizeState(text: string): string {
  return twoLetters.test(text) ? text.toUpperCase() : text;
}

/**
 * Formats nine bare US digits as `NNNNN-NNNN`, a Canadian code as `ANA NAN`. Source: SPEC and DECISIONS, The lead
 * envelope.
 */
export function normalizeZip(text: string, country: string): string {
  if (country === "US" && nineDigits.test(text)) return `${text.slice(0, 5)}-${text.slice(5)}`;
  const canadian = canadianCode.exec(text);
  return canadian === null ? text : `${canadian[1]} ${canadian[2]}`.toUpperCase();
}

/** Folds a `project_area` term to its lookup key, so that case and outer space do not matter. */
export function foldArea(text: string): string {
  return normalizeLine(text).toLowerCase();
}

function isTwoRunes(text: string): boolean {
  return isLongerThan(text, 1) && !isLongerThan(text, 2);
}
