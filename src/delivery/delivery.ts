/**
 * The delivery of one process, put together: outbox, sender, breaker, loop and listener.
 *
 * @module
 */

import { TlsFiles, type TlsPaths } from "../http/tls_files.ts";
import { OutboxListener } from "../store/delivery/listener.ts";
import { OutboxStore } from "../store/delivery/outbox.ts";
import type { Pool } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { Breaker, type TierStanding, Watch } from "./breaker.ts";
import { DeliveryLoop, type DeliveryObservation } from "./loop.ts";
import { Sender } from "./send.ts";

/** What the delivery is told. */
export interface DeliverySettings {
  /** Names this process in notifications. */
  readonly node: string;
  /** Makes a UUID, which names a claim. */
  readonly newLease: () => string;
  readonly actionsUrl: string;
  /** `null` for plain HTTP to this machine, as benchmarks use it. */
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
  /** Where to listen, or `null`: then the polls alone find what other processes have committed. */
  readonly listenOn: Primary | null;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

const breakerOptions = {
  // Source: DECISIONS, Decided since (The breaker).
  failuresMax: 3,
  pauseMs: 1_000,
  // With the time that a probe may take, the tier's return is noticed within 15 s.
  pauseCapMs: 10_000,
  silenceMaxMs: 10_000,
};
const probeTimeoutMs = 5_000;

/** A running delivery. */
export interface Delivery {
  /** Something of these tenants was committed here. */
  wake(tenantIds: Iterable<number>): void;
  /** How the actions tier stands, as this process has seen it. */
  tier(): TierStanding;
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
  const { newLease, leaseMs, attemptsMax, sendTimeoutMs, pollMs, concurrency } = settings;
  const tls = settings.files === null ? null : await TlsFiles.load(settings.files, "delivery");
  const outbox = new OutboxStore(hooks.pool, { newLease, leaseMs, attemptsMax });
  const sender = new Sender({
    url: settings.actionsUrl,
    tls,
    timeoutMs: sendTimeoutMs,
    // One more than there are deliveries at once: for a probe while all of them hang.
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

/** The breaker, and who looks for the tier; `onChange` is called when something else may be sent than before. */
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
