/**
 * JSON numbers as the decimals they were written as, without a double in between. This module is
 * browser compatible.
 *
 * @module
 */

/** The exact value `±0.DIGITS × 10^point`. Zero has no digits, no sign and the point 0. */
export interface Decimal {
  readonly negative: boolean;
  /** Neither starts nor ends with a zero. */
  readonly digits: string;
  /** A bigint only when the exponent was written with more digits than a double holds exactly. */
  readonly point: number | bigint;
}

const zero: Decimal = { negative: false, digits: "", point: 0 };
/** 10^15 is safe to add a text's length to. */
const exponentDigitsMax = 15;

/**
 * Reads the text of a valid JSON number. Linear in its length; huge exponents cost their digits only.
 *
 * Chosen: `-0` is `0`, because as decimals they are the same number.
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

function plus(point: number, exponent: string): number | bigint {
  if (exponent.length <= exponentDigitsMax) return point + Number(exponent);
  // BigInt takes a sign on decimal text too.
  return BigInt(point) + BigInt(exponent);
}
