import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDialableNumber } from "../../src/lead/dial.ts";

const cases: readonly (readonly [sent: string, country: string, uri: string | null, shown?: string])[] = [
  ["+15035550100", "US", "tel:+15035550100", "(503) 555-0100"],
  ["(503) 555-0100", "CA", "tel:+15035550100", "(503) 555-0100"],
  // Normalized without checking that the number exists.
  ["+15551234567", "US", "tel:+15551234567", "(555) 123-4567"],
  ["+15035550100", "CH", "tel:+15035550100", "+1 503 555 0100"],
  ["+15035550100", "Freedonia", "tel:+15035550100", "+1 503 555 0100"],
  ["+41 44 668 18 00", "US", "tel:+41446681800", "+41 44 668 18 00"],
  ["044 668 18 00", "CH", "tel:+41446681800", "044 668 18 00"],
  ["044 668 18 00", "US", null],
  // Without its leading zero, a German number could be another country's.
  ["5035550100", "DE", null],
  ["+41 44", "CH", null],
  ["12", "US", null],
  // Reserved by Ofcom for drama: invalid for the library, but dialable.
  ["+44 7700 900123", "US", "tel:+447700900123", "+44 7700 900123"],
  ["011 41 44 668 18 00", "US", "tel:+41446681800", "+41 44 668 18 00"],
  ["00 41 44 668 18 00", "CH", "tel:+41446681800", "044 668 18 00"],
  // 00 is not the international prefix of the United States.
  ["00 41 44 668 18 00", "US", null],
  ["41 44 668 18 00", "CH", null],
  ...["x12", "X 12", "ext 12", ", ext. 12", "extension: 12", "#12", ";ext=12", "- poste 12"].map((end) =>
    [`503 555 0100 ${end}`, "US", "tel:+15035550100;ext=12", "(503) 555-0100 ext. 12"] as const
  ),
  ["+41 44 668 18 00 x3", "US", "tel:+41446681800;ext=3", "+41 44 668 18 00 ext. 3"],
  ["503 555 0100 x12345678", "US", null],
  ["503 555 0100 box 5", "US", null],
  ["503 555 0100,,123#", "US", null],
  ["call me x5", "US", null],
  ["1-800-FLOWERS", "US", null],
  ["", "US", null],
  ["+15035550100".padStart(129), "US", null],
];
for (const [sent, country, uri, shown] of cases) {
  test(`${JSON.stringify(sent.trim())} in ${country} ${uri === null ? "is not dialable" : `dials ${uri}`}`, () => {
    assert.deepEqual(parseDialableNumber(sent, country), uri === null ? null : { uri, display: shown });
  });
}
