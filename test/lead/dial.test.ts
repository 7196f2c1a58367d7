import assert from "node:assert/strict";
import { test } from "node:test";
import { dialable } from "../../src/lead/dial.ts";

const cases: readonly (readonly [sent: string, country: string, e164: string | null, shown?: string])[] = [
  ["+15035550100", "US", "+15035550100", "(503) 555-0100"],
  ["(503) 555-0100", "CA", "+15035550100", "(503) 555-0100"],
  // Normalized, whether or not it exists.
  ["+15551234567", "US", "+15551234567", "(555) 123-4567"],
  ["+15035550100", "CH", "+15035550100", "+1 503 555 0100"],
  ["+15035550100", "Freedonia", "+15035550100", "+1 503 555 0100"],
  ["+41 44 668 18 00", "US", "+41446681800", "+41 44 668 18 00"],
  ["044 668 18 00", "CH", "+41446681800", "044 668 18 00"],
  ["044 668 18 00", "US", null],
  // A German number is written with its zero: without it might be another country's.
  ["5035550100", "DE", null],
  ["+41 44", "CH", null],
  ["12", "US", null],
  ["503 555 0100 x5", "US", null],
  ["1-800-FLOWERS", "US", null],
  ["", "US", null],
  ["+15035550100".padStart(129), "US", null],
];
for (const [sent, country, e164, shown] of cases) {
  test(`${JSON.stringify(sent.trim())} of ${country} is ${e164 === null ? "not dialled" : `${e164}, ${shown}`}`, () => {
    assert.deepEqual(dialable(sent, country), e164 === null ? null : { e164, shown });
  });
}
