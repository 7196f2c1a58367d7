/** Assembles event delivery from the outbox, the breaker, the prober, the loop and the listener. */

import { TlsFiles, type TlsPaths } from "../http/tls_files.ts";
import { OutboxListener } from "../store/delivery/listener.ts";
import { OutboxStore } from "../store/delivery/outbox.ts";
import type { Pool } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { Breaker, Prober, type TierStatus } from "./breaker.ts";
import { DeliveryLoop, type DeliveryObservation } from "./loop.ts";
import { retryAfterMsMax, Sender } from "./send.ts";

export interface DeliverySettings {
  /** Identifies this process in notifications. */
  readonly node: string;
  /** Generates the UUID of a claim. */
  readonly newLease: () => string;
  readonly actionsUrl: string;
  /** The TLS files; `null` for plain HTTP to this machine (benchmarks). */
  readonly files: TlsPaths | null;
  readonly sendTimeoutMs: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
}

export interface DeliveryHooks {
  readonly sender: Sender;
  /** The pool for claims and settlements. */
  readonly pool: Pool;
  /** The pool from which the listener notifies itself, to check its connection. */
  readonly listenerPool: Pool;
  /** The server to listen to for notifications; `null` if only polling finds other processes' commits. */
  readonly listenOn: Primary | null;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

const breakerOptions = {
  // Source: DECISIONS, Decided since (The breaker).
  failuresMax: 3,
  pauseMs: 1_000,
  // With a probe's timeout added, a recovery is noticed within 15 s.
  pauseCapMs: 10_000,
  silenceMaxMs: 10_000,
};
const probeTimeoutMs = 5_000;

export interface Delivery {
  /** Starts delivering these tenants' events, which this process has committed. */
  wake(tenantIds: Iterable<number>): void;
  tier(): TierStatus;
  readonly inFlight: number;
  /** Releases the claims of unsent events, and waits up to `graceMs` for requests in flight. Leaves the sender open. */
  close(graceMs: number): Promise<void>;
}

/**
 * Opens the connections to the actions tier.
 *
 * @throws {Error} if the certificate files are unusable
 */
export async function openSender(
  { actionsUrl, files, sendTimeoutMs, concurrency }: Pick<
    DeliverySettings,
    "actionsUrl" | "files" | "sendTimeoutMs" | "concurrency"
  >,
  observe: DeliveryHooks["observe"],
): Promise<Sender> {
  return new Sender({
    url: actionsUrl,
    tls: files === null ? null : await TlsFiles.load(files, "delivery"),
    timeoutMs: sendTimeoutMs,
    // More than the concurrent deliveries, so that a probe and a dry run get one while all of them hang.
    connectionsMax: concurrency + 2,
    observe,
  });
}

/** Starts event delivery. */
export function startDelivery(settings: DeliverySettings, hooks: DeliveryHooks): Delivery {
  const { newLease, leaseMs, attemptsMax, sendTimeoutMs, pollMs, concurrency } = settings;
  const { sender } = hooks;
  const outbox = new OutboxStore(hooks.pool, { newLease, leaseMs, attemptsMax });
  const { breaker, prober } = watchTier(hooks, { concurrency, onChange: () => loop.hint() });
  const loop = new DeliveryLoop({
    claim: (requests, settlements) => outbox.claim(requests, settlements),
    settle: (settlements) => outbox.settle(settlements),
    dueTenants: (floors) => outbox.dueTenants(floors),
    limitWaits: () => outbox.limitWaits(Math.max(settings.backoffCapMs, retryAfterMsMax)),
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
  prober.schedule();
  loop.hint();
  return {
    wake: (tenantIds) => loop.wake(tenantIds),
    tier: () => breaker.status(hooks.nowMs()),
    get inFlight() {
      return loop.inFlight;
    },
    async close(graceMs) {
      prober.close();
      await listener?.close();
      await loop.close(graceMs);
    },
  };
}

function watchTier(
  { sender, nowMs, observe }: DeliveryHooks,
  { concurrency, onChange }: { readonly concurrency: number; readonly onChange: () => void },
): { readonly breaker: Breaker; readonly prober: Prober } {
  const breaker = new Breaker({
    ...breakerOptions,
    concurrency,
    onReport: (failure) => observe({ kind: "breaker", failure }),
    onChange: () => {
      prober.schedule();
      onChange();
    },
  }, nowMs());
  const prober = new Prober({
    probe: () => sender.probe(probeTimeoutMs),
    breaker,
    nowMs,
    onFailure: (failure) => observe({ kind: "tier_failure", failure }),
  });
  return { breaker, prober };
}
