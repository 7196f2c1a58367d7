/**
 * Normalizes countries, states, postal codes and project areas, after `normalizeLine`. This module is browser compatible.
 */

import { countrySynonyms } from "../contract/fields.ts";
import { isLongerThan, normalizeLine } from "./text.ts";

const countryNames: ReadonlyMap<string, string> = new Map(
  Object.entries(countrySynonyms).flatMap(([code, names]) =>
    names.map((name) => [name.toLowerCase(), code] as const)
  ),
);

/** Matches two ASCII letters; a fast path, because counting runes costs more. */
const twoLetters = /^[A-Za-z]{2}$/;
const canadianCode = /^([A-Za-z]\d[A-Za-z])[ -]?(\d[A-Za-z]\d)$/;
const nineDigits = /^\d{9}$/;

/**
 * Maps a synonym to its code, and upper-cases two characters unless that lengthens them (`ß1`); `null` for anything else.
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

/** Upper-cases a state of two ASCII letters; returns any other text unchanged. Source: SPEC, Lead envelope. */
export function normalizeState(text: string): string {
  return twoLetters.test(text) ? text.toUpperCase() : text;
}

/**
 * Formats nine US digits as `NNNNN-NNNN` and a Canadian code as `ANA NAN`; returns any other text unchanged. Source: SPEC
 * and DECISIONS, The lead envelope.
 */
export function normalizeZip(text: string, country: string): string {
  if (country === "US" && nineDigits.test(text)) return `${text.slice(0, 5)}-${text.slice(5)}`;
  const canadian = canadianCode.exec(text);
  return canadian === null ? text : `${canadian[1]} ${canadian[2]}`.toUpperCase();
}

/** Folds a `project_area` term for lookups that ignore case and extra white space. */
export function foldArea(text: string): string {
  return normalizeLine(text).toLowerCase();
}

function isTwoRunes(text: string): boolean {
  return isLongerThan(text, 1) && !isLongerThan(text, 2);
}
