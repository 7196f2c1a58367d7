import assert from "node:assert/strict";
import test from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import { DeliveryLoop } from "../../src/delivery/loop.ts";
import type { SendOutcome } from "../../src/delivery/send.ts";
import type { Claimed, Settlement } from "../../src/store/delivery/outbox.ts";

/** A loop over rows in memory; `outcomes` says what becomes of each event's send. */
function makeLoop(outcomes: Readonly<Record<string, SendOutcome>>) {
  const waiting = Object.keys(outcomes);
  const settled: Settlement[] = [];
  const done = Promise.withResolvers<void>();
  const loop = new DeliveryLoop({
    claim: () => Promise.resolve(waiting.splice(0).map(claimed)),
    settle: (batch) => {
      settled.push(...batch);
      if (settled.length >= Object.keys(outcomes).length) done.resolve();
      return Promise.resolve();
    },
    dueTenants: () => Promise.resolve(waiting.length > 0 ? [1] : []),
    send: (eventId) => Promise.resolve(outcomes[eventId] as SendOutcome),
    breaker: new Breaker({
      failuresMax: 5,
      pauseMs: 1_000,
      pauseCapMs: 1_000,
      concurrency: 4,
      onChange: () => {},
    }),
    nowMs: () => 0,
    random: () => 0.5,
    observe: (observation) => assert.fail(JSON.stringify(observation)),
  }, {
    baseMs: 1_000_000,
    capMs: 1_000_000,
    attemptsMax: 1,
    leaseMs: 50_000,
    sendTimeoutMs: 25_000,
    pollMs: 60_000,
  });
  return { loop, settled, done: done.promise };
}

function claimed(eventId: string): Claimed {
  return {
    event_id: eventId,
    tenant_id: 1,
    lease: "00000000-0000-0000-0000-000000000000",
    due_at_ms: 0,
    number: 1,
    spent: 1,
    is_replay: false,
    kind: "lead",
    tenant: "acme",
    source: "web",
    received_at: "2026-11-20T22:51:59.806Z",
    flags: "",
    lead: "{}",
    extra: null,
  };
}

test("what was sent is settled by its answer: delivered, dead, or waiting for a route", async () => {
  const { loop, settled, done } = makeLoop({
    a: { kind: "delivered", status: 200 },
    b: { kind: "refused", status: 424, reason: "crm failed: http_500", retryAfterMs: 0 },
    c: { kind: "delivered", status: 204 },
    d: { kind: "refused", status: 409, reason: "no_route", retryAfterMs: 0 },
  });
  loop.wake([1]);
  await done;
  await loop.close(0);
  assert.equal(loop.inFlight, 0);
  const verdicts = settled.map(({ eventId, kind }) => [eventId, kind]).sort();
  assert.deepEqual(verdicts, [["a", "delivered"], ["b", "dead"], ["c", "delivered"], ["d", "released"]]);
  const waits = settled.find(({ eventId }) => eventId === "d");
  assert.ok(waits?.isSpent === false && waits.retryMs >= 30_000 && waits.retryMs <= 3_600_000);
  assert.equal(waits.reason, "no_route");
});
