import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeZone } from "../../src/http/time_zone.ts";
import { InvalidParameter, Parameters } from "../../src/ops/parameters.ts";

const time = (value: string) => new Parameters(`t=${value}`, ["t"]).time("t");

test("a time is ISO 8601, in UTC unless it says otherwise; a day is its beginning", () => {
  const cases: [string, string][] = [
    ["2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["2026-11-20T14:00", "2026-11-20T14:00:00.000Z"],
    ["2026-11-20T14:00:05", "2026-11-20T14:00:05.000Z"],
    ["2026-11-20T14:00:05.5Z", "2026-11-20T14:00:05.500Z"],
    ["2026-11-20t14:00:05z", "2026-11-20T14:00:05.000Z"],
    ["2026-11-20T14:00:00%2B02:00", "2026-11-20T12:00:00.000Z"],
    ["2026-11-20T14:00:00+02:00", "2026-11-20T12:00:00.000Z"],
    ["2026-11-20T14:00:00-0530", "2026-11-20T19:30:00.000Z"],
  ];
  for (const [sent, expected] of cases) assert.equal(time(sent), expected, sent);
});

test("a time without an offset is one of the zone that was asked in, also as the console writes it", () => {
  const berlin = new TimeZone("Europe/Berlin");
  const read = (text: string) =>
    new Parameters(new URLSearchParams({ t: text }).toString(), ["t"], { zone: berlin }).time("t");
  assert.equal(read("2026-11-20"), "2026-11-19T23:00:00.000Z");
  assert.equal(read("2026-07-01T14:00"), "2026-07-01T12:00:00.000Z");
  assert.equal(read("2026-07-01 14:00:05"), "2026-07-01T12:00:05.000Z");
  assert.equal(read("2026-07-01T14:00Z"), "2026-07-01T14:00:00.000Z");
  // An hour that comes twice: the first, unless it is said.
  assert.equal(read("2026-10-25 02:30"), "2026-10-25T00:30:00.000Z");
  assert.equal(read("2026-10-25 02:30:00 +01:00"), "2026-10-25T01:30:00.000Z");
  assert.throws(() => read("2026-02-30"), InvalidParameter);
  assert.throws(() => read("2026-02-03 02:30 +99:00"), InvalidParameter);
});
