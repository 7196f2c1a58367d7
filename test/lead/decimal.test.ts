import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { parseDecimal, toCents } from "../../src/lead/decimal.ts";
import { exactly, numberText, runs } from "../support/lead/properties.ts";

test("parseDecimal returns a number's sign, digits and decimal point position", () => {
  const cases: Record<string, [boolean, string, number | string]> = {
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
  for (const [text, [isNegative, digits, point]] of Object.entries(cases)) {
    assert.deepEqual(parseDecimal(text), { isNegative, digits, point }, text);
  }
});

test("a cost is the exact decimal, rounded half away from zero, within the range", () => {
  const nearRange = fc.tuple(
    fc.constantFrom("", "-"),
    fc.nat(1001),
    fc.stringMatching(/^[0459]{1,25}$/),
    fc.constantFrom("", "e0", "e-1", "E+1", "e-2", "e2"),
  ).map(([sign, whole, fraction, exponent]) => `${sign}${whole}.${fraction}${exponent}`);
  fc.assert(
    fc.property(fc.oneof(numberText, nearRange), (text) => {
      assert.equal(toCents(text), centsByDefinition(text), text);
    }),
    { numRuns: runs.numRuns * 5 },
  );
});

test("exponents of any length are read exactly", () => {
  assert.equal(toCents(`1e${"9".repeat(65_000)}`), null);
  assert.equal(toCents(`1e-${"9".repeat(65_000)}`), null);
  assert.equal(toCents(`0.${"0".repeat(60_000)}1e60004`), null);
  assert.equal(toCents(`0.${"0".repeat(60_000)}1e60001`), 100);
  assert.equal(toCents(`1${"0".repeat(60_000)}e-${"0".repeat(5_000)}60000`), 100);
});

function centsByDefinition(text: string): number | null {
  const { units, scale } = exactly(text);
  // value × 1000 × 10^k as an integer, to see half cents exactly.
  const up = scale < 0n ? -scale : 0n;
  const divisor = 10n ** (scale < 0n ? 0n : scale);
  const twiceCents = units * 10n ** up * 200n;
  const rounded = units < 0n ? 0n : (twiceCents + divisor) / (2n * divisor);
  return rounded >= 1n && rounded <= 99_999n ? Number(rounded) : null;
}
