import assert from "node:assert/strict";
import test from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import { DeliveryLoop } from "../../src/delivery/loop.ts";
import type { SendOutcome, TierFailure } from "../../src/delivery/send.ts";
import type { Claimed, Settlement } from "../../src/store/delivery/outbox.ts";

/** A loop over rows in memory; `outcomes` says what becomes of each event's send. */
function makeLoop(outcomes: Readonly<Record<string, SendOutcome>>, changes: Partial<Claimed> = {}) {
  const waiting = Object.keys(outcomes);
  const settled: Settlement[] = [];
  const observations: string[] = [];
  const done = Promise.withResolvers<void>();
  const breaker = new Breaker({
    failuresMax: 3,
    pauseMs: 1_000,
    pauseCapMs: 1_000,
    silenceMaxMs: 1_000,
    concurrency: 4,
    onNews: () => {},
    onChange: () => {},
  }, 0);
  const settle = (batch: readonly Settlement[]) => {
    settled.push(...batch);
    if (settled.length >= Object.keys(outcomes).length) done.resolve();
    return Promise.resolve();
  };
  const loop = new DeliveryLoop({
    claim: async (_requests, batch) => {
      await settle(batch);
      return waiting.splice(0).map((id) => ({ ...claimed(id), ...changes }));
    },
    settle,
    dueTenants: () => Promise.resolve(waiting.length > 0 ? [1] : []),
    send: (eventId) => Promise.resolve(outcomes[eventId] as SendOutcome),
    breaker,
    nowMs: () => 0,
    random: () => 0.5,
    observe: ({ kind }) => kind === "settled" || observations.push(kind),
  }, {
    baseMs: 1_000_000,
    capMs: 1_000_000,
    attemptsMax: 1,
    leaseMs: 50_000,
    sendTimeoutMs: 25_000,
    pollMs: 60_000,
  });
  return { loop, breaker, settled, observations, done: done.promise };
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
    is_repeat: false,
    kind: "lead",
    tenant: "acme",
    source: "web",
    received_at: "2026-11-20T22:51:59.806Z",
    flags: "",
    lead: "{}",
    extra: null,
  };
}

const unreachable = (failure: TierFailure, isSent: boolean): SendOutcome => ({
  kind: "unreachable",
  status: null,
  reason: failure.code,
  failure,
  isSent,
});

for (const is_replay of [false, true]) {
  const who = is_replay ? "a replayed lead" : "a lead";
  test(`503 spends nothing of ${who}, and has it wait, so that another comes first`, async () => {
    const failure: TierFailure = { cause: "unavailable", code: "503" };
    const { loop, breaker, settled, done } = makeLoop({ a: unreachable(failure, true) }, {
      is_replay,
      spent: 99,
    });
    loop.wake([1]);
    await done;
    await loop.close(0);
    assert.equal(breaker.state, "closed", "one may be that lead's trouble");
    const [one] = settled;
    assert.deepEqual([one?.kind, one?.outcome, one?.isSpent], ["retry", "unreachable", false]);
    assert.ok((one?.retryMs ?? 0) > 0);
  });
}
