import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeZone } from "../../../src/http/time_zone.ts";
import { timeTicks } from "../../../src/ops/console/history.ts";

const zone = (name: string) => new TimeZone(name);
const ticks = (from: string, hours: number, name: string) => {
  const fromMs = Date.parse(from);
  return timeTicks(fromMs, fromMs + hours * 3_600_000, zone(name));
};
const texts = (...asked: Parameters<typeof ticks>) => ticks(...asked).map(({ text }) => text);

test("an axis is marked at the round hours and midnights of the operator's clock", () => {
  assert.deepEqual(texts("2026-11-21T13:07:00Z", 1, "UTC"), [
    "13:10",
    "13:20",
    "13:30",
    "13:40",
    "13:50",
    "14:00",
  ]);
  assert.deepEqual(texts("2026-11-21T13:10:00Z", 24, "Europe/Berlin"), [
    "15:00",
    "18:00",
    "21:00",
    "22 Nov",
    "03:00",
    "06:00",
    "09:00",
    "12:00",
  ]);
  assert.deepEqual(texts("2026-11-18T13:00:00Z", 3 * 24, "Asia/Kathmandu"), ["19 Nov", "20 Nov", "21 Nov"]);
  assert.deepEqual(
    ticks("2026-11-18T13:00:00Z", 3 * 24, "Asia/Kathmandu")[0]?.atMs,
    Date.parse("2026-11-18T18:15Z"),
  );
  assert.deepEqual(texts("2026-10-30T00:00:00Z", 30 * 24, "UTC"), ["2 Nov", "9 Nov", "16 Nov", "23 Nov"]);
});

test("a day on which clocks are put back is as long as it is", () => {
  const found = ticks("2026-10-24T12:00:00Z", 24, "Europe/Berlin");
  assert.deepEqual(found.map(({ text }) => text), [
    "15:00",
    "18:00",
    "21:00",
    "25 Oct",
    "03:00",
    "06:00",
    "09:00",
    "12:00",
  ]);
  assert.equal((found[4]?.atMs ?? 0) - (found[3]?.atMs ?? 0), 4 * 3_600_000);
});
