/**
 * Normalizes North American phone numbers (calling code 1) to E.164, based on their digits and the country. This module
 * is browser compatible.
 */

import { getCountryCallingCode, isSupportedCountry } from "libphonenumber-js/min";

const scheme = /^tel:/i;
const decimalDigit = /^\p{Nd}$/u;
const plusSign = /^[+＋]$/u;
/**
 * Matches white space, punctuation (also full-width), format characters (Cf), which address books add to copied
 * numbers, and what makes a digit an emoji. Source: DECISIONS, `phone`.
 */
const formatting = /^[\p{White_Space}\p{Pd}\p{Cf}\p{Variation_Selector}\u20e3\u2212.．·()（）[\]_/／]$/u;
const lengthMax = 128;
/** The maximum length, in UTF-16 code units, of a text that is compared as an email address or phone number. */
export const contactLengthMax = 1_000;
const digitsMax = 11;

/**
 * Normalizes a North American number in any format to `+1` and ten digits; `null` if it must be stored as sent, such as
 * ten digits without `1` if the normalized `country` has another calling code. Source: SPEC and DECISIONS, The lead
 * envelope.
 */
export function toE164(sent: string, country: string): string | null {
  if (sent.length > lengthMax) return null;
  let digits = "";
  let hasPlus = false;
  for (const char of sent.replace(scheme, "")) {
    if (char >= "0" && char <= "9") digits += char;
    else if (plusSign.test(char)) {
      if (hasPlus || digits !== "") return null;
      hasPlus = true;
    } else if (decimalDigit.test(char)) digits += decimalValue(char);
    else if (!formatting.test(char)) return null;
    if (digits.length > digitsMax) return null;
  }
  const national = nationalNumber(digits, hasPlus, country);
  return national !== null && national >= "2" ? `+1${national}` : null;
}

/**
 * Returns the ASCII digits of a number in any format, with any leading `+`; `null` if it is too long or not a number.
 */
export function plainNumber(sent: string): string | null {
  if (sent.length > contactLengthMax) return null;
  let number = "";
  for (const char of sent.replace(scheme, "")) {
    if (decimalDigit.test(char)) number += decimalValue(char);
    else if (plusSign.test(char) && number === "") number = "+";
    else if (!formatting.test(char)) return null;
  }
  return number === "" || number === "+" ? null : number;
}

const extension = /([0-9])[\s,;)]*(?:extension|ext|x|#)[.:=]?\s*[0-9]{1,7}\s*$/i;
/** Matches the prefix in `+44 (0)20 7946 0958`. */
const trunkPrefix = /([0-9])\s*\(\s*0\s*\)/;

/**
 * Returns the form in which the search indexes a number (search_phone in sql/): `+1` and ten digits, or the digits of
 * another number, or a text without digits as it is. An extension is left out.
 */
export function searchedPhone(text: string): string {
  const digits = withoutAdditions(text).replace(/[^0-9]/g, "").replace(/^00/, "");
  const [, national] = /^1?([2-9]\d{9})$/.exec(digits) ?? [];
  return national === undefined ? digits || text : `+1${national}`;
}

/** Converts the digits to ASCII and removes an extension and a trunk prefix. */
export function withoutAdditions(text: string): string {
  return withoutTrunkPrefix(text).replace(extension, "$1");
}

/** Converts the digits to ASCII and removes the trunk prefix in `+44 (0)20 7946 0958`. */
export function withoutTrunkPrefix(text: string): string {
  return withAsciiDigits(text).replace(trunkPrefix, "$1");
}

/** Converts decimal digits in any script to ASCII. */
export function withAsciiDigits(text: string): string {
  return text.replace(/[^\P{Nd}0-9]/gu, (digit) => String(decimalValue(digit)));
}

function nationalNumber(digits: string, hasPlus: boolean, country: string): string | null {
  if (digits.length === 11 && digits.startsWith("1")) return digits.slice(1);
  return digits.length === 10 && !hasPlus && mayBeNorthAmerican(country) ? digits : null;
}

/**
 * Whether numbers in a country may have calling code 1: false for an unknown two-letter code, true for text that is not
 * a two-letter code.
 */
function mayBeNorthAmerican(country: string): boolean {
  if (country === "US" || !/^[A-Z]{2}$/.test(country)) return true;
  return isSupportedCountry(country) && getCountryCallingCode(country) === "1";
}

/** A cache, because computing a value takes up to 50 regular expression tests. */
const digitValues = new Map<string, number>();

/** Returns the value of a decimal digit in any script; Unicode encodes digits in runs of ten that start with zero. */
function decimalValue(digit: string): number {
  let value = digitValues.get(digit);
  if (value === undefined) {
    const code = digit.codePointAt(0)!;
    let zero = code;
    while (decimalDigit.test(String.fromCodePoint(zero - 1))) zero--;
    value = (code - zero) % 10;
    digitValues.set(digit, value);
  }
  return value;
}
