/**
 * Compares JSON by value, numbers by all of their digits: `1.10` is `1.1`, and 12345678901234567890 is not its neighbour.
 *
 * @module
 */

import { isDeepStrictEqual } from "node:util";

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A decimal's one way of being written: its digits without zeros around, and the power of ten. */
function canonical(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (short === "") return "0";
  return `${sign}${short}e${Number(exponent) - fraction.length + (digits.length - short.length)}`;
}

/** A value whose numbers are objects with their digits. @throws {SyntaxError} for text that is no JSON */
export function readDigits(text: string): unknown {
  JSON.parse(text);
  return JSON.parse(
    text.replace(stringOrNumber, (part) => part.startsWith('"') ? part : `{"\\u0000":"${canonical(part)}"}`),
  );
}

/** Whether two texts are the same JSON. @throws {SyntaxError} when the first is no JSON */
export function sameJson(first: string, second: string): boolean {
  return isDeepStrictEqual(readDigits(first), readDigits(second));
}
