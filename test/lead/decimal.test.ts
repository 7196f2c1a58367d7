import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { readDecimal } from "../../src/lead/decimal.ts";
import { areEqual, numberText, runs } from "../support/lead/properties.ts";

test("a number is read as sign, digits and the place of the point", () => {
  const read: Record<string, [boolean, string, number | string]> = {
    "1": [false, "1", 1],
    "-1.10": [true, "11", 1],
    "0.001": [false, "1", -2],
    "1200": [false, "12", 4],
    "12e2": [false, "12", 4],
    "0.00120E+3": [false, "12", 1],
    "1e-2": [false, "1", -1],
    "9007199254740993": [false, "9007199254740993", 16],
    "1e99999999999999999999": [false, "1", "99999999999999999999+1"],
    "-10e-99999999999999999999": [true, "1", "-99999999999999999999+2"],
    "0.001e+099999999999999999999": [false, "1", "99999999999999999999-2"],
    "1e00000000000000000005": [false, "1", 6],
    "1e-000999999999999999": [false, "1", -999999999999998],
  };
  for (const [text, [negative, digits, point]] of Object.entries(read)) {
    assert.deepEqual(readDecimal(text), { negative, digits, point }, text);
  }
});

test("two spellings are read alike exactly when they are the same decimal", () => {
  const spelledTwice = numberText.chain((text) =>
    fc.oneof(
      numberText,
      fc.nat(9).map((zeros) => respell(text, zeros)),
      fc.nat(20).map((at) => text.slice(0, at) + "1" + text.slice(at)),
    ).map((other) => [text, other] as const)
  );
  fc.assert(
    fc.property(spelledTwice, ([text, other]) => {
      fc.pre(/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(other));
      assert.equal(spell(text) === spell(other), areEqual(text, other), `${text} and ${other}`);
    }),
    runs,
  );
});

function spell(text: string): string {
  const { negative, digits, point } = readDecimal(text);
  return `${negative}:${digits}:${point}`;
}

/** The same number with zeros added to its fraction and `zeros` moved into its exponent. */
function respell(text: string, zeros: number): string {
  const [mantissa = "", exponent = "0"] = text.split(/[eE]/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  return `${whole}${fraction}.${"0".repeat(zeros + 1)}e${Number(exponent) - fraction.length}`
    .replace(/^(-?)0+(?=\d)/, "$1");
}
