/** Phone numbers: US and Canadian ones become E.164, by digits alone. This module is browser compatible. */

import { getCountryCallingCode, isSupportedCountry } from "libphonenumber-js/min";

const scheme = /^tel:/i;
const decimalDigit = /^\p{Nd}$/u;
const plusSign = /^[+＋]$/u;
/** Punctuation, full-width too, and format characters (Cf), which address books add when you copy a number. */
const formatting = /^[\p{White_Space}\p{Pd}\p{Cf}\u2212.．()（）/／]$/u;
const writtenLengthMax = 128;
/** Maximum length of a text compared as an address or a number, in UTF-16 units. */
export const contactLengthMax = 1_000;
const digitsMax = 11;

/**
 * Reduces a US or Canadian number in any formatting to `+1` and ten digits; `null` for one that is stored as sent.
 * Ten bare digits are refused when `country` (normalized) has another calling code. Source: SPEC and DECISIONS, The
 * lead envelope.
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

/** The ASCII digits of a number in any formatting, with its leading `+`; `null` for any other or too long a text. */
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

/** Converts the decimal digits of every script to ASCII. */
export function withAsciiDigits(text: string): string {
  return text.replace(/[^\P{Nd}0-9]/gu, (digit) => String(decimalValue(digit)));
}

function nationalNumber(digits: string, plus: boolean, country: string): string | null {
  if (digits.length === 11 && digits.startsWith("1")) return digits.slice(1);
  return digits.length === 10 && !plus && mayBeNorthAmerican(country) ? digits : null;
}

/** An unknown two-letter code is not +1; any other text says nothing. */
function mayBeNorthAmerican(country: string): boolean {
  if (country === "US" || !/^[A-Z]{2}$/.test(country)) return true;
  return isSupportedCountry(country) && getCountryCallingCode(country) === "1";
}

/** A cache: each value takes up to 50 regular expressions. */
const digitValues = new Map<string, number>();

/** The value of a decimal digit of any script: Unicode encodes them in runs of ten that start with a zero. */
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
