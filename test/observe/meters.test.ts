import assert from "node:assert/strict";
import { test } from "node:test";
import { eventIdAt } from "../../src/contract/event_id.ts";
import { Meters } from "../../src/observe/meters.ts";
import type { Settlement } from "../../src/store/delivery/outbox.ts";

const acceptedMs = Date.parse("2026-03-01T00:00:00Z");
const settlement: Settlement = {
  eventId: eventIdAt(acceptedMs),
  tenantId: 1,
  lease: "",
  number: 1,
  kind: "delivered",
  outcome: "delivered",
  status: 200,
  reason: null,
  durationMs: 20,
  isSpent: true,
  isRepeat: false,
  retryMs: 0,
};

const lines = (meters: Meters) => meters.registry.text().split("\n");

test("settlements are attempts by outcome and by time, a delivery has its age, a death is counted, a release is nothing", () => {
  const meters = new Meters(() => acceptedMs + 4_000);
  const settlements: Settlement[] = [
    settlement,
    { ...settlement, kind: "retry", outcome: "unreachable", durationMs: 10_000 },
    { ...settlement, kind: "dead", outcome: "refused", durationMs: 30 },
    { ...settlement, kind: "released" },
  ];
  meters.observe({ kind: "settled", settlements });
  const text = lines(meters);
  for (
    const line of [
      'lead_delivery_attempts_total{outcome="delivered"} 1',
      'lead_delivery_attempts_total{outcome="refused"} 1',
      'lead_delivery_attempts_total{outcome="unreachable"} 1',
      'lead_delivery_attempt_duration_seconds_bucket{outcome="delivered",le="0.025"} 1',
      'lead_delivery_attempt_duration_seconds_bucket{outcome="delivered",le="0.01"} 0',
      'lead_time_to_delivery_seconds_bucket{le="1"} 0',
      'lead_time_to_delivery_seconds_bucket{le="5"} 1',
      "lead_time_to_delivery_seconds_sum 4",
      "lead_deaths_total 1",
    ]
  ) assert.ok(text.includes(line), line);
  const { refusals, ...counts } = meters.totals();
  assert.deepEqual(counts, { accepted: 0, refused: 0, delivered: 1, failed: 2, died: 1 });
  assert.ok(Object.values(refusals).every((count) => count === 0));
});

test("what an operator has sent again is an attempt, and neither a delivery more nor an age", () => {
  const meters = new Meters(() => acceptedMs + 86_400_000);
  meters.observe({
    kind: "settled",
    settlements: [{ ...settlement, isRepeat: true }, {
      ...settlement,
      isRepeat: true,
      kind: "dead",
      outcome: "refused",
    }],
  });
  const text = lines(meters);
  assert.ok(text.includes('lead_delivery_attempts_total{outcome="delivered"} 1'));
  assert.ok(text.includes("lead_time_to_delivery_seconds_count 0"));
  const { delivered, failed } = meters.totals();
  assert.deepEqual([delivered, failed], [0, 1]);
});
