/**
 * JSON numbers as the decimals they were written as, without a double in between, and a cost in integer cents. This
 * module is browser compatible.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";

/** The exact value `±0.DIGITS × 10^point`. Zero has no digits, no sign and the point 0. */
interface Decimal {
  readonly negative: boolean;
  /** Neither starts nor ends with a zero. */
  readonly digits: string;
  /** A text when the exponent has more digits than a double holds exactly: that exponent, and what the digits add to it. */
  readonly point: number | string;
}

const zero: Decimal = { negative: false, digits: "", point: 0 };
/** 10^15 is safe to add a text's length to. */
const exponentDigitsMax = 15;

/**
 * Reads the text of a valid JSON number. Linear in its length.
 *
 * Chosen: `-0` is `0`, because as decimals they are the same number. An exponent of more than 15 digits is not added up:
 * the conversion costs the square of its digits, nobody sends one, and two spellings of such a number may well differ.
 */
export function readDecimal(text: string): Decimal {
  const negative = text.startsWith("-");
  const exponentAt = Math.max(text.indexOf("e"), text.indexOf("E"));
  const mantissa = text.slice(negative ? 1 : 0, exponentAt < 0 ? text.length : exponentAt);
  const pointAt = mantissa.indexOf(".");
  const written = pointAt < 0 ? mantissa : mantissa.slice(0, pointAt) + mantissa.slice(pointAt + 1);

  let start = 0;
  let end = written.length;
  while (start < end && written.charCodeAt(start) === 0x30) start++;
  if (start === end) return zero;
  while (written.charCodeAt(end - 1) === 0x30) end--;

  const point = (pointAt < 0 ? mantissa.length : pointAt) - start;
  return {
    negative,
    digits: written.slice(start, end),
    point: exponentAt < 0 ? point : plus(point, text.slice(exponentAt + 1)),
  };
}

function plus(point: number, exponent: string): number | string {
  const sign = exponent.startsWith("-") ? "-" : "";
  let start = /^[+-]/.test(exponent) ? 1 : 0;
  while (exponent.charCodeAt(start) === 0x30) start++;
  const digits = exponent.slice(start);
  if (digits.length <= exponentDigitsMax) return point + Number(`${sign}0${digits}`);
  return `${sign}${digits}${point < 0 ? "" : "+"}${point}`;
}

/** Cents of five digits are dollars of three. */
const pointMax = String(limits.costCentsMax).length - 2;
/** 0.005, which is 0.5 × 10^-2, is the least that rounds to a cent. */
const pointMin = -2;

/**
 * Rounds a cost, the text of a valid JSON number in US dollars, to cents, half away from zero on the
 * decimal digits as written; `null` when the rounded value is out of range.
 *
 * Source: SPEC, Lead envelope; DECISIONS, The lead envelope.
 */
export function toCents(text: string): number | null {
  const { negative, digits, point } = readDecimal(text);
  // Before arithmetic on the point: an exponent may be of any size.
  if (negative || typeof point === "string" || point < pointMin || point > pointMax) return null;
  const wholeDigits = point + 2;
  const whole = Number(digits.slice(0, wholeDigits).padEnd(wholeDigits, "0"));
  const cents = digits.charAt(wholeDigits) >= "5" ? whole + 1 : whole;
  return cents < limits.costCentsMin || cents > limits.costCentsMax ? null : cents;
}
