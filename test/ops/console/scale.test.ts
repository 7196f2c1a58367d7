import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TimeZone } from "../../../src/contract/time_zone.ts";
import { countScale, spanScale, timeTicks } from "../../../src/ops/console/scale.ts";

test("a scale of counts has whole ticks, in steps of 1, 2, 5, 10, 20, 25, 50, …", () => {
  assert.deepEqual([0, 1, 2, 4, 5, 9, 41, 90, 100, 410].map((greatest) => countScale(greatest).ticks), [
    [0, 1],
    [0, 1],
    [0, 1, 2],
    [0, 1, 2, 3, 4],
    [0, 2, 4, 6],
    [0, 5, 10],
    [0, 20, 40, 60],
    [0, 25, 50, 75, 100],
    [0, 25, 50, 75, 100],
    [0, 200, 400, 600],
  ]);
});

test("every scale reaches the greatest value with few ticks that stand where they say", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e9 }),
      fc.constantFrom(countScale, spanScale),
      (greatest, scale) => {
        const { top, ticks } = scale(greatest);
        assert.ok(top >= greatest && ticks.at(-1) === top && ticks[0] === 0);
        assert.ok(ticks.length >= 2 && ticks.length <= 5);
        assert.ok(
          ticks.every((tick, index) => Number.isInteger(tick) && tick * (ticks.length - 1) === index * top),
        );
      },
    ),
  );
});

test("a scale of times counts as clocks do", () => {
  assert.deepEqual(spanScale(50).ticks, [0, 15, 30, 45, 60]);
  assert.deepEqual(spanScale(3_090).ticks, [0, 900, 1_800, 2_700, 3_600]);
  assert.deepEqual(spanScale(60_000).ticks, [0, 21_600, 43_200, 64_800]);
});

const zone = (name: string) => TimeZone.of(name) as TimeZone;
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
