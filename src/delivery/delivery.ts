/** Composes a process's delivery: outbox, sender, breaker, loop and listener. */

import { TlsFiles, type TlsPaths } from "../http/tls_files.ts";
import { OutboxListener } from "../store/delivery/listener.ts";
import { OutboxStore } from "../store/delivery/outbox.ts";
import type { Pool } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { Breaker, type TierStanding, Watch } from "./breaker.ts";
import { DeliveryLoop, type DeliveryObservation } from "./loop.ts";
import { Sender } from "./send.ts";

/** The delivery's settings. */
export interface DeliverySettings {
  /** Names this process in notifications. */
  readonly node: string;
  /** Generates a UUID for a claim. */
  readonly newLease: () => string;
  readonly actionsUrl: string;
  /** `null` for plain HTTP to this machine, for benchmarks. */
  readonly files: TlsPaths | null;
  readonly sendTimeoutMs: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
}

/** The delivery's dependencies. */
export interface DeliveryHooks {
  /** For claims and settlements. */
  readonly pool: Pool;
  /** For the listener's notifications to itself. */
  readonly listenerPool: Pool;
  /** Where to listen; `null` finds other processes' commits by polling only. */
  readonly listenOn: Primary | null;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

const breakerOptions = {
  // Source: DECISIONS, Decided since (The breaker).
  failuresMax: 3,
  pauseMs: 1_000,
  // Including a probe's timeout, recovery is noticed within 15 s.
  pauseCapMs: 10_000,
  silenceMaxMs: 10_000,
};
const probeTimeoutMs = 5_000;

/** A running delivery. */
export interface Delivery {
  /** This process committed events of these tenants. */
  wake(tenantIds: Iterable<number>): void;
  /** The tier's status as seen by this process. */
  tier(): TierStanding;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Waits up to `graceMs` for requests in flight, releases claims, and closes everything. */
  close(graceMs: number): Promise<void>;
}

/**
 * Starts delivery.
 *
 * @throws {Error} if the certificate files are unusable
 */
export async function startDelivery(settings: DeliverySettings, hooks: DeliveryHooks): Promise<Delivery> {
  const { newLease, leaseMs, attemptsMax, sendTimeoutMs, pollMs, concurrency } = settings;
  const tls = settings.files === null ? null : await TlsFiles.load(settings.files, "delivery");
  const outbox = new OutboxStore(hooks.pool, { newLease, leaseMs, attemptsMax });
  const sender = new Sender({
    url: settings.actionsUrl,
    tls,
    timeoutMs: sendTimeoutMs,
    // One more than concurrent deliveries, for a probe while all of them hang.
    connectionsMax: concurrency + 1,
    observe: hooks.observe,
  });
  const { breaker, watch } = watchTier(sender, hooks, { concurrency, onChange: () => loop.hint() });
  const loop = new DeliveryLoop({
    claim: (requests, settlements) => outbox.claim(requests, settlements),
    settle: (settlements) => outbox.settle(settlements),
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
  const listener = hooks.listenOn === null ? null : new OutboxListener({
    primary: hooks.listenOn,
    pool: hooks.listenerPool,
    node: settings.node,
    onHint: () => loop.hint(),
  });
  watch.look();
  loop.start();
  return {
    wake: (tenantIds) => loop.wake(tenantIds),
    tier: () => breaker.standing(hooks.nowMs()),
    get inFlight() {
      return loop.inFlight;
    },
    async close(graceMs) {
      watch.close();
      await listener?.close();
      await loop.close(graceMs);
      sender.close();
    },
  };
}

/** The breaker and its probes; `onChange` is called when more or less may be sent. */
function watchTier(
  sender: Sender,
  { nowMs, observe }: DeliveryHooks,
  { concurrency, onChange }: { readonly concurrency: number; readonly onChange: () => void },
): { readonly breaker: Breaker; readonly watch: Watch } {
  const breaker = new Breaker({
    ...breakerOptions,
    concurrency,
    onNews: (failure) => observe({ kind: "breaker", failure }),
    onChange: () => {
      watch.look();
      onChange();
    },
  }, nowMs());
  const watch = new Watch({
    probe: () => sender.probe(probeTimeoutMs),
    breaker,
    nowMs,
    onFailure: (failure) => observe({ kind: "tier_failure", failure }),
  });
  return { breaker, watch };
}
