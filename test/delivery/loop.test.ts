/** Tests the delivery loop with a store and a tier in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import { DeliveryLoop } from "../../src/delivery/loop.ts";
import type { Claimed, ClaimRequest, Settlement } from "../../src/store/delivery/outbox.ts";
import { until } from "../support/until.ts";

const leaseMs = 35_000;
const concurrency = 128;

/** The outbox in memory: each row waits until it is settled, and can be claimed while it has no lease. */
class Store {
  readonly #leases = new Map<string, { readonly tenantId: number; untilMs: number }>();
  isUnavailable = false;
  nowMs = 0;

  add(eventId: string, tenantId: number): void {
    this.#leases.set(eventId, { tenantId, untilMs: 0 });
  }

  get waiting(): number {
    return this.#leases.size;
  }

  get leased(): number {
    return [...this.#leases.values()].filter(({ untilMs }) => untilMs > this.nowMs).length;
  }

  settle(settlements: readonly Settlement[]): Promise<void> {
    if (this.isUnavailable) return Promise.reject(new Error("The store is unavailable"));
    for (const { eventId } of settlements) this.#leases.delete(eventId);
    return Promise.resolve();
  }

  async claim(requests: readonly ClaimRequest[], settlements: readonly Settlement[]): Promise<Claimed[]> {
    await this.settle(settlements);
    return requests.flatMap(({ tenantId, limit }) =>
      [...this.#leases].filter(([, row]) => row.tenantId === tenantId && row.untilMs <= this.nowMs)
        .slice(0, limit).map(([eventId, row]) => {
          row.untilMs = this.nowMs + leaseMs;
          return claimed(eventId, tenantId);
        })
    );
  }

  dueTenants(): Promise<number[]> {
    if (this.isUnavailable) return Promise.reject(new Error("The store is unavailable"));
    const due = [...this.#leases.values()].filter(({ untilMs }) => untilMs <= this.nowMs);
    return Promise.resolve([...new Set(due.map(({ tenantId }) => tenantId))]);
  }
}

function claimed(eventId: string, tenantId: number): Claimed {
  return {
    event_id: eventId,
    tenant_id: tenantId,
    lease: "lease",
    due_at_ms: 0,
    number: 1,
    spent: 1,
    is_replay: false,
    is_repeat: false,
    kind: "lead",
    tenant: "acme",
    source: "website",
    campaign: null,
    received_at: "2026-12-01T00:00:00.000Z",
    flags: "",
    lead: "{}",
    extra: null,
  };
}

test("more settlements than one batch holds are all written before the first claim after an outage", async () => {
  const store = new Store();
  const sent: string[] = [];
  const tier = Promise.withResolvers<void>();
  const nowMs = () => store.nowMs;
  const loop = new DeliveryLoop({
    claim: (requests, settlements) => store.claim(requests, settlements),
    settle: (settlements) => store.settle(settlements),
    dueTenants: () => store.dueTenants(),
    limitWaits: () => Promise.resolve(),
    send: async (eventId) => {
      sent.push(eventId);
      await tier.promise;
      return { kind: "delivered", status: 200 };
    },
    breaker: new Breaker({
      failuresMax: 3,
      pauseMs: 1_000,
      pauseCapMs: 1_000,
      silenceMaxMs: 60_000,
      concurrency,
      onReport: () => {},
      onChange: () => {},
    }, 0),
    nowMs,
    random: () => 0,
    observe: () => {},
  }, {
    baseMs: 1_000,
    capMs: 1_000,
    attemptsMax: 3,
    leaseMs,
    sendTimeoutMs: 30_000,
    pollMs: 20,
  });
  // Each tenant may have two ready rows, so that more than a thousand are claimed while the actions service is slow.
  const tenantIds = Array.from({ length: 700 }, (_, n) => n);
  for (const id of tenantIds) for (const n of [1, 2]) store.add(`${id}-${n}`, id);
  loop.wake(tenantIds);
  await until(() => store.leased === store.waiting, { what: "all are claimed" });

  store.isUnavailable = true;
  tier.resolve();
  await until(() => sent.length === store.waiting && loop.inFlight === 0, { what: "all are sent" });
  store.nowMs += leaseMs;
  store.isUnavailable = false;
  // The tenants whose settlements wait behind a full batch.
  loop.wake(tenantIds.slice(-100));
  await until(() => store.waiting === 0, { what: "all are settled" });
  assert.equal(sent.length, new Set(sent).size);

  store.add("later", 0);
  loop.wake([0]);
  await until(() => store.waiting === 0, { what: "a later event is delivered" });
  assert.equal(sent.at(-1), "later");
  await loop.close(1_000);
});
