/**
 * Performs an event's due effects and records their outcomes. An effect recorded as done is not repeated; a crash before
 * its record can cause a repeat.
 */

import { randomUUID } from "node:crypto";
import type {
  Claim,
  ClaimedEffect,
  EffectClaims,
  EffectRecord,
  RouteScope,
  TenantNames,
} from "../store/delivery/effects.ts";
import type { Destination } from "./destination.ts";
import type { ActionsObservation } from "../observe/actions_meters.ts";
import type { DeliveredEvent } from "./event.ts";
import { type Done, type Failed, failed, type Outcome, queueTimeout } from "./outcome.ts";

/** Claims and records effects; each method rejects if the database is unavailable. */
export interface EffectRecords {
  claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number },
  ): Promise<EffectClaims>;
  settle(claim: Claim, record: EffectRecord): Promise<void>;
}

export interface EffectRunnerOptions {
  readonly records: EffectRecords;
  readonly destinations: readonly Destination[];
  /** The time limit for each effect. */
  readonly effectTimeoutMs: number;
  /** The wall-clock time, for messages. */
  readonly nowMs: () => number;
  /** The monotonic time, for durations. */
  readonly monotonicMs: () => number;
  readonly observe: (observation: ActionsObservation) => void;
}

export type PerformResult =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  /** The reports by destination kind, including those for effects completed by an earlier delivery. */
  | { readonly kind: "settled"; readonly effects: ReadonlyMap<string, EffectReport> };

export type EffectReport = "done" | Failed;

// The part of the lease reserved for the claim and the settlement.
const leaseMarginMs = 10_000;
const unrecordedMax = 10_000;

export class EffectRunner {
  readonly #options: EffectRunnerOptions;
  /** Effects that were performed but not recorded, because the database failed. A retry only records them. */
  readonly #unrecorded = new Map<string, Done>();

  constructor(options: EffectRunnerOptions) {
    this.#options = options;
  }

  /**
   * Performs the event's due effects concurrently. A completed effect is not repeated; an effect that another delivery is
   * performing counts as failed (`in_progress`). Rejects if the database is unavailable.
   */
  async perform(event: DeliveredEvent): Promise<PerformResult> {
    const { records, effectTimeoutMs } = this.#options;
    const lease = randomUUID();
    const claims = await records.claim(event, { id: lease, ms: effectTimeoutMs + leaseMarginMs });
    if (claims.kind !== "claimed") return { kind: claims.kind };
    const running = claims.effects.map(async (effect) =>
      [effect.kind, await this.#run(event, { effect, lease, tenant: claims.tenant })] as const
    );
    // Waits for all effects, so that a failure to record one does not abandon the others.
    await Promise.allSettled(running);
    return { kind: "settled", effects: mergeByKind(await Promise.all(running)) };
  }

  async #run(
    event: DeliveredEvent,
    { effect, lease, tenant }: {
      readonly effect: ClaimedEffect;
      readonly lease: string;
      readonly tenant: TenantNames;
    },
  ): Promise<EffectReport> {
    if (effect.state === "done") return "done";
    const { routeId, round } = effect;
    const claim = { eventId: event.eventId, routeId, round, lease };
    const unrecorded = this.#unrecorded.get(claimKey(claim));
    if (unrecorded !== undefined) return await this.#record(claim, unrecorded);
    if (effect.state === "busy") return failed("in_progress", Math.max(1, Math.ceil(effect.busyMs / 1000)));
    const { destinations, nowMs, monotonicMs, observe } = this.#options;
    const startedAtMs = monotonicMs();
    const destination = destinations.find(({ kind }) => kind === effect.kind);
    const outcome = await destination?.send({
      event,
      route: effect.route,
      tenant,
      nowMs: nowMs(),
      repeat: round,
      isTest: false,
    }) ?? failed("unknown_destination");
    // A kind is unknown if a newer version, which runs alongside this process, added it.
    if (destination !== undefined) {
      const reason = outcome.kind === "done" ? null : outcome.reason;
      observe({ kind: "effect", destination: effect.kind, reason, durationMs: monotonicMs() - startedAtMs });
    }
    return await this.#record(claim, outcome);
  }

  async #record(claim: Claim, outcome: Outcome): Promise<EffectReport> {
    const { records } = this.#options;
    const { status = null, answer = null } = outcome;
    if (outcome.kind === "failed") {
      await records.settle(claim, { reason: outcome.reason, status, answer });
      return outcome;
    }
    this.#remember(claimKey(claim), outcome);
    await records.settle(claim, { reason: null, status, answer });
    this.#unrecorded.delete(claimKey(claim));
    return "done";
  }

  #remember(key: string, done: Done): void {
    this.#unrecorded.set(key, done);
    const [oldest = key] = this.#unrecorded.keys();
    if (this.#unrecorded.size > unrecordedMax) this.#unrecorded.delete(oldest);
  }
}

/** Returns a claim's key. Sending an event again starts a new round. */
function claimKey({ eventId, routeId, round }: Claim): string {
  return `${eventId} ${routeId} ${round}`;
}

/** Merges the reports for each kind: done if every recipient's effect is done, otherwise the first failure, preferably not a queue timeout. */
function mergeByKind(reports: readonly (readonly [string, EffectReport])[]): Map<string, EffectReport> {
  const grouped = [...Map.groupBy(reports, ([kind]) => kind)];
  return new Map(grouped.map(([kind, entries]) => [kind, mergeReports(entries.map(([, report]) => report))]));
}

function mergeReports(reports: readonly EffectReport[]): EffectReport {
  const failures = reports.filter((report) => report !== "done");
  const first = failures.find(({ reason }) => reason !== queueTimeout) ?? failures[0];
  if (first === undefined) return "done";
  if (reports.length === 1) return first;
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return failed(
    `${first.reason} (${failures.length} of ${reports.length})`,
    waits.length === 0 ? null : Math.max(...waits),
  );
}
