/** Exact decimals of JSON numbers, and a cost in integer cents. This module is browser compatible. */

import { limits } from "../contract/limits.ts";

/** The exact value `±0.DIGITS × 10^point`. Zero has no digits, no sign and the point 0. */
interface Decimal {
  readonly negative: boolean;
  /** Without leading or trailing zeros. */
  readonly digits: string;
  /** A string when the exponent exceeds 15 digits. */
  readonly point: number | string;
}

const zero: Decimal = { negative: false, digits: "", point: 0 };
const exponentDigitsMax = 15;

/**
 * Reads a valid JSON number in linear time; `-0` is `0`. Long exponents are not added up: converting them is
 * quadratic.
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

const pointMax = String(limits.costCentsMax).length - 2;
/** 0.005 is the least that rounds to a cent. */
const pointMin = -2;

/**
 * Rounds a cost in US dollars to cents, half away from zero; `null` if out of range. Source: SPEC and DECISIONS, The
 * lead envelope.
 */
export function toCents(text: string): number | null {
  const { negative, digits, point } = readDecimal(text);
  // Checked before arithmetic: an exponent may be huge.
  if (negative || typeof point === "string" || point < pointMin || point > pointMax) return null;
  const wholeDigits = point + 2;
  const whole = Number(digits.slice(0, wholeDigits).padEnd(wholeDigits, "0"));
  const cents = digits.charAt(wholeDigits) >= "5" ? whole + 1 : whole;
  return cents < limits.costCentsMin || cents > limits.costCentsMax ? null : cents;
}
