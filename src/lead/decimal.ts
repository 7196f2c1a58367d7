/** Parses JSON numbers exactly, and converts costs to cents. This module is browser compatible. */

import { limits } from "../contract/limits.ts";

/** The exact value `±0.DIGITS × 10^point`. Zero has no digits, no sign and point 0. */
interface Decimal {
  readonly isNegative: boolean;
  /** The significant digits, without leading or trailing zeros. */
  readonly digits: string;
  /** The decimal exponent; a string if the written exponent has more than 15 significant digits. */
  readonly point: number | string;
}

const zero: Decimal = { isNegative: false, digits: "", point: 0 };
const exponentDigitsMax = 15;

/**
 * Parses a valid JSON number in linear time; `-0` is `0`. Keeps a long exponent as text, because converting it takes
 * quadratic time.
 */
export function parseDecimal(text: string): Decimal {
  const isNegative = text.startsWith("-");
  const exponentAt = Math.max(text.indexOf("e"), text.indexOf("E"));
  const mantissa = text.slice(isNegative ? 1 : 0, exponentAt < 0 ? text.length : exponentAt);
  const pointAt = mantissa.indexOf(".");
  const mantissaDigits = pointAt < 0 ? mantissa : mantissa.slice(0, pointAt) + mantissa.slice(pointAt + 1);

  let start = 0;
  let end = mantissaDigits.length;
  while (start < end && mantissaDigits.charCodeAt(start) === 0x30) start++;
  if (start === end) return zero;
  while (mantissaDigits.charCodeAt(end - 1) === 0x30) end--;

  const point = (pointAt < 0 ? mantissa.length : pointAt) - start;
  return {
    isNegative,
    digits: mantissaDigits.slice(start, end),
    point: exponentAt < 0 ? point : addExponent(point, text.slice(exponentAt + 1)),
  };
}

function addExponent(point: number, exponent: string): number | string {
  const sign = exponent.startsWith("-") ? "-" : "";
  let start = /^[+-]/.test(exponent) ? 1 : 0;
  while (exponent.charCodeAt(start) === 0x30) start++;
  const digits = exponent.slice(start);
  if (digits.length <= exponentDigitsMax) return point + Number(`${sign}0${digits}`);
  return `${sign}${digits}${point < 0 ? "" : "+"}${point}`;
}

const pointMax = String(limits.costCentsMax).length - 2;
/** The point of 0.005, the smallest cost that rounds to a cent. */
const pointMin = -2;

/**
 * Rounds a cost in US dollars to cents, half away from zero; `null` if out of range. Source: SPEC and DECISIONS, The
 * lead envelope.
 */
export function toCents(text: string): number | null {
  const { isNegative, digits, point } = parseDecimal(text);
  // Checked before any arithmetic, because the exponent may be huge.
  if (isNegative || typeof point === "string" || point < pointMin || point > pointMax) return null;
  const wholeDigits = point + 2;
  const whole = Number(digits.slice(0, wholeDigits).padEnd(wholeDigits, "0"));
  const cents = digits.charAt(wholeDigits) >= "5" ? whole + 1 : whole;
  return cents < limits.costCentsMin || cents > limits.costCentsMax ? null : cents;
}
