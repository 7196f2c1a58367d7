/**
 * What a contact cost, from the digits as written to integer cents. This module is browser
 * compatible.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import { readDecimal } from "./decimal.ts";

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
