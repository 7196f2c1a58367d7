/**
 * The delivery of one process, put together: outbox, sender, breaker, loop and listener.
 *
 * @module
 */

import { TlsFiles, type TlsPaths } from "../http/tls_files.ts";
import { OutboxListener } from "../store/delivery/listener.ts";
import { OutboxStore } from "../store/delivery/outbox.ts";
import type { Pool } from "../store/pool.ts";
import { Breaker, type BreakerState } from "./breaker.ts";
import { DeliveryLoop } from "./loop.ts";
import type { DeliveryObservation } from "./observation.ts";
import { Sender } from "./send.ts";

/** What the delivery is told. */
export interface DeliverySettings {
  readonly databaseUrl: string;
  /** Names this process in notifications. */
  readonly node: string;
  /** Makes a UUID, which names a claim. */
  readonly newLease: () => string;
  readonly actionsUrl: string;
  readonly files: TlsPaths | null;
  readonly sendTimeoutMs: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
}

/** What the delivery works with besides. */
export interface DeliveryHooks {
  /** Connections to claim and settle over. */
  readonly pool: Pool;
  /** Connections for the listener's notifications to itself. */
  readonly listenerPool: Pool;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

// In a row and without an answer between them: one slow answer is no outage.
const breakerFailuresMax = 5;
const breakerPauseMs = 1_000;
// The tier's return is noticed within this time.
const breakerPauseCapMs = 15_000;

/** A running delivery. */
export interface Delivery {
  /** Something of these tenants was committed here. */
  wake(tenantIds: Iterable<number>): void;
  readonly breaker: BreakerState;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Lets what is in flight finish for at most `graceMs`, gives back what is claimed, and closes everything. */
  close(graceMs: number): Promise<void>;
}

/**
 * Starts delivering.
 *
 * @throws {Error} when the certificate files cannot be used
 */
export async function startDelivery(settings: DeliverySettings, hooks: DeliveryHooks): Promise<Delivery> {
  const { databaseUrl, newLease, leaseMs, attemptsMax, sendTimeoutMs, pollMs, concurrency } = settings;
  const tls = settings.files === null ? null : await TlsFiles.load(settings.files, "delivery");
  const outbox = new OutboxStore(hooks.pool, { newLease, leaseMs, attemptsMax });
  const sender = new Sender({
    url: settings.actionsUrl,
    tls,
    timeoutMs: sendTimeoutMs,
    connectionsMax: concurrency,
    observe: hooks.observe,
  });
  const breaker = new Breaker({
    failuresMax: breakerFailuresMax,
    pauseMs: breakerPauseMs,
    pauseCapMs: breakerPauseCapMs,
    concurrency,
    onChange: (state) => hooks.observe({ kind: "breaker", state }),
  });
  const loop = new DeliveryLoop({
    claim: (requests) => outbox.claim(requests),
    settle: async (settlements) => {
      await outbox.settle(settlements);
      hooks.observe({ kind: "settled", settlements });
    },
    dueTenants: (floors) => outbox.dueTenants(floors),
    send: (eventId, body) => sender.send(eventId, body),
    breaker,
    nowMs: hooks.nowMs,
    random: hooks.random,
    observe: hooks.observe,
  }, {
    baseMs: settings.backoffBaseMs,
    capMs: settings.backoffCapMs,
    attemptsMax,
    leaseMs,
    sendTimeoutMs,
    pollMs,
  });
  const listener = new OutboxListener({
    databaseUrl,
    pool: hooks.listenerPool,
    node: settings.node,
    onHint: () => loop.hint(),
  });
  loop.start();
  return {
    wake: (tenantIds) => loop.wake(tenantIds),
    get breaker() {
      return breaker.state;
    },
    get inFlight() {
      return loop.inFlight;
    },
    async close(graceMs) {
      await listener.close();
      await loop.close(graceMs);
      sender.close();
    },
  };
}
