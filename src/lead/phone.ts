/**
 * Phone numbers: what can be read as a US or Canadian number becomes E.164, by digits alone. This
 * module is browser compatible.
 *
 * @module
 */

import { getCountryCallingCode, isSupportedCountry } from "libphonenumber-js/min";

const scheme = /^tel:/i;
const decimalDigit = /^\p{Nd}$/u;
const plusSign = /^[+＋]$/u;
/**
 * Spaces, dashes (Pd, and the minus sign), dots, parentheses and slashes, full-width ones too.
 *
 * Chosen: invisible format characters (Cf) count as formatting, because numbers pasted from address
 * books come wrapped in U+202A … U+202C or with U+200E, and nobody sees why theirs was not read.
 */
const formatting = /^[\p{White_Space}\p{Pd}\p{Cf}\u2212.．()（）/／]$/u;
/** What is longer is no number, whatever stands around its digits: twice what the envelope takes. */
const writtenLengthMax = 128;
/** Bounds what is compared as one address or number, in UTF-16 units: far above the 254 of an address. */
export const contactLengthMax = 1_000;
/** The country code and a number of ten digits. */
const digitsMax = 11;

/**
 * Reduces a phone number to `+1` and ten digits, or answers `null` for what must be stored as sent.
 *
 * Ten digits, or 1 or +1 and ten digits, whose area code starts with 2–9, in any formatting. Ten bare
 * digits are not taken for US/CA when `country`, normalized, is a two-letter code with another calling
 * code than 1. Nothing checks that the number exists.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 *
 * Chosen: `1` and ten digits are read whatever the country, because only bare ten are in doubt; a `+`
 * may stand behind an opening parenthesis, `(+1) 415…`, but not behind a digit, and not before ten
 * digits, because `+41…` is Switzerland.
 */
export function toE164(sent: string, country: string): string | null {
  if (sent.length > writtenLengthMax) return null;
  let digits = "";
  let plus = false;
  for (const char of sent.replace(scheme, "")) {
    if (char >= "0" && char <= "9") digits += char;
    else if (plusSign.test(char)) {
      if (plus || digits !== "") return null;
      plus = true;
    } else if (decimalDigit.test(char)) digits += decimalValue(char);
    else if (!formatting.test(char)) return null;
    if (digits.length > digitsMax) return null;
  }
  const national = nationalNumber(digits, plus, country);
  return national !== null && national >= "2" ? `+1${national}` : null;
}

/**
 * The digits of a number in any formatting, in ASCII, with a `+` in front where one was: what two spellings of a
 * number that is not North American have in common. `null` when the text holds anything else, or is longer than
 * {@linkcode contactLengthMax}.
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

/** The text with the decimal digits of every script as ASCII digits. */
export function withAsciiDigits(text: string): string {
  return text.replace(/[^\P{Nd}0-9]/gu, (digit) => String(decimalValue(digit)));
}

/** The ten digits, whatever they start with, or `null`. */
function nationalNumber(digits: string, plus: boolean, country: string): string | null {
  if (digits.length === 11 && digits.startsWith("1")) return digits.slice(1);
  return digits.length === 10 && !plus && mayBeNorthAmerican(country) ? digits : null;
}

/**
 * Tells whether ten bare digits may be a number of calling code 1.
 *
 * Chosen: a two-letter code that no calling code is known for (`ZZ`) is not 1, because the rule asks
 * for 1; a country that is no two-letter code says nothing, so the digits are read.
 */
function mayBeNorthAmerican(country: string): boolean {
  if (country === "US" || !/^[A-Z]{2}$/.test(country)) return true;
  return isSupportedCountry(country) && getCountryCallingCode(country) === "1";
}

/** By digit. Filled as digits arrive, because each takes up to 50 regular expressions; Unicode has some hundreds. */
const digitValues = new Map<string, number>();

/**
 * The value of a decimal digit of any script. Unicode encodes them in runs of whole sets of ten that
 * start with a zero, so the distance to the run's start tells it without a table.
 */
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
