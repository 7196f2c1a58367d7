import assert from "node:assert/strict";
import { test } from "node:test";
import { percentiles, reportRows } from "../../src/ops/report_rows.ts";
import type { DayFigures, ReportData, ReportSource } from "../../src/store/operator/report.ts";

const source: ReportSource = {
  keyId: 1,
  tenant: "acme",
  isSandbox: false,
  source: "web",
  kind: "lead",
  isActive: true,
  lastAcceptedAt: "2026-03-10T12:00:00.000Z",
  longestGapHours: 2,
};
const figures: DayFigures = {
  day: "2026-03-10",
  keyId: 1,
  accepted: 10,
  spendCents: 1_250,
  delivered: 7,
  pending: 1,
  dead: 1,
  held: 1,
  flags: { phone_unnormalized: 2 },
  seconds: { 100: 7 },
};
const data: ReportData = {
  now: "2026-03-10T13:00:00.000Z",
  sources: [source],
  figures: [figures],
  duplicates: [],
  collisions: [],
  refusals: [],
  unknownAreas: [],
};

test("keys of one label are one source, so that a rotated key changes no row", () => {
  const one = { day: "2026-03-10", keyId: 1 };
  const other = { day: "2026-03-10", keyId: 2 };
  const { rows } = reportRows({
    ...data,
    sources: [{ ...source, isActive: false }, { ...source, keyId: 2 }],
    figures: [figures, {
      ...figures,
      keyId: 2,
      flags: { phone_unnormalized: 1, extra_fields_preserved: 4 },
      seconds: { 100: 1, 200: 6 },
    }],
    duplicates: [{ ...one, count: 2 }, { ...other, count: 3 }],
    collisions: [{ ...other, count: 1 }],
    refusals: [
      { ...one, field: "phone", reason: "required", count: 2 },
      { ...other, field: "phone", reason: "required", count: 1 },
      { ...other, field: "", reason: "rate_limited", count: 9 },
    ],
    unknownAreas: [{ ...one, term: "moat", count: 1 }, { ...other, term: "moat", count: 2 }],
  });
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.deepEqual({ ...row, seconds_to_delivery: null }, {
    tenant: "acme",
    source: "web",
    kind: "lead",
    day: "2026-03-10",
    accepted: 20,
    duplicates: 5,
    collisions: 1,
    refused: [{ field: "phone", reason: "required", count: 3 }, {
      field: "",
      reason: "rate_limited",
      count: 9,
    }],
    flags: { phone_unnormalized: 3, extra_fields_preserved: 4 },
    spend_cents: 2_500,
    delivered: 14,
    pending: 2,
    dead: 2,
    held: 2,
    seconds_to_delivery: null,
    unknown_areas: [{ term: "moat", count: 3 }],
  });
});

test("median and 95th percentile are of the nearest rank, within 2.5 %", () => {
  const bucket = (seconds: number) => Math.ceil(Math.log(seconds / 0.001) / Math.log(1.05));
  const of = (...seconds: number[]) => {
    const counts = new Map<number, number>();
    for (const one of seconds) counts.set(bucket(one), (counts.get(bucket(one)) ?? 0) + 1);
    return percentiles(counts);
  };
  assert.equal(of(), null);
  const near = (found: number | undefined, wanted: number) =>
    assert.ok(Math.abs((found ?? 0) - wanted) <= 0.026 * wanted + 0.0005, `${found} is not ${wanted}`);
  near(of(1)?.median, 1);
  near(of(1)?.p95, 1);
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  near(of(...hundred)?.median, 50);
  near(of(...hundred)?.p95, 95);
  near(of(0.02, 0.02, 259_200)?.median, 0.02);
  near(of(0.02, 0.02, 259_200)?.p95, 259_200);
});

test("a source is silent after one and a half times its longest gap, a day at least, and its active key counts", () => {
  const silent = (change: Partial<ReportSource>, hours: number) => {
    const now = new Date(Date.parse("2026-03-10T12:00:00.000Z") + hours * 3_600_000).toISOString();
    return reportRows({ ...data, now, sources: [{ ...source, ...change }] }).sources[0];
  };
  assert.equal(silent({}, 24)?.silent, false);
  assert.deepEqual(silent({}, 24.1), {
    tenant: "acme",
    source: "web",
    kind: "lead",
    last_accepted_at: "2026-03-10T12:00:00.000Z",
    silent_after_hours: 24,
    silent: true,
  });
  // Whoever sends nothing from Friday evening to Monday morning is not silent on a Sunday, nor on a Tuesday morning.
  assert.equal(silent({ longestGapHours: 64 }, 64)?.silent, false);
  assert.equal(silent({ longestGapHours: 64 }, 97)?.silent, true);
  assert.equal(silent({ longestGapHours: null }, 25)?.silent, true);
  assert.equal(silent({ lastAcceptedAt: null, longestGapHours: null }, 999)?.silent, false);
  assert.equal(silent({ isActive: false }, 999), undefined);
  assert.equal(silent({ isSandbox: true }, 999), undefined);
  // The key before it has the last event; the new one has none yet.
  const rotated = reportRows({
    ...data,
    now: "2026-03-20T00:00:00.000Z",
    sources: [{ ...source, isActive: false }, {
      ...source,
      keyId: 2,
      lastAcceptedAt: null,
      longestGapHours: null,
    }],
  }).sources;
  assert.deepEqual(rotated.map((one) => [one.silent, one.last_accepted_at]), [[true, source.lastAcceptedAt]]);
});
