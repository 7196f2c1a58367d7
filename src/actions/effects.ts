/**
 * Does what is due for an event, each effect once, and records it effect by effect.
 *
 * @module
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
import { type Done, type Failed, failed, notBegun, type Outcome } from "./outcome.ts";

/** Where effects are claimed and recorded; it throws when the database is away. */
export interface EffectRecords {
  claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number },
  ): Promise<EffectClaims>;
  settle(claim: Claim, record: EffectRecord): Promise<void>;
}

/** What {@linkcode Effects} needs. */
export interface EffectsOptions {
  readonly records: EffectRecords;
  readonly destinations: readonly Destination[];
  /** The bound that every effect keeps. */
  readonly effectTimeoutMs: number;
  /** The wall clock, for what leaves the house; leases go by the database's. */
  readonly nowMs: () => number;
  /** Never steps back; for durations. */
  readonly clockMs: () => number;
  readonly observe: (observation: ActionsObservation) => void;
}

/** How the effects of an event stand after {@linkcode Effects.perform}. */
export type Performed =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  /** By the kind of their destinations; those that the tenant's route has, and any that was done before. */
  | { readonly kind: "settled"; readonly effects: ReadonlyMap<string, EffectReport> };

/** All effects of a kind. */
export type EffectReport = "done" | Failed;

// Between the claim and the effect's start, and between its end and the record, goes time as well.
const leaseMarginMs = 10_000;
// Effects that are done and not recorded, because the database went away in between; beyond that the oldest go.
const unrecordedMax = 10_000;

/** Performs the effects of events. */
export class Effects {
  readonly #options: EffectsOptions;
  /** Done, not recorded: so that a repeat to this process records it and does nothing else. */
  readonly #unrecorded = new Map<string, Done>();

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  /**
   * Performs what is due for the event, all of it at once. An effect that was done before is not
   * repeated; one that another delivery is at counts as failed for the moment (`in_progress`).
   *
   * Throws what the records throw. What was done until then is remembered, and recorded when the event comes again.
   */
  async perform(event: DeliveredEvent): Promise<Performed> {
    const { records, effectTimeoutMs } = this.#options;
    const lease = randomUUID();
    const begun = await records.claim(event, { id: lease, ms: effectTimeoutMs + leaseMarginMs });
    if (begun.kind !== "begun") return { kind: begun.kind };
    const running = begun.effects.map(async (effect) =>
      [effect.kind, await this.#run(event, { effect, lease, tenant: begun.tenant })] as const
    );
    // All to their ends, also when one cannot be recorded: the others' records must not be lost with it.
    await Promise.allSettled(running);
    return { kind: "settled", effects: byKind(await Promise.all(running)) };
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
    const unrecorded = this.#unrecorded.get(keyOf(claim));
    if (unrecorded !== undefined) return await this.#record(claim, unrecorded);
    if (effect.state === "busy") return failed("in_progress", Math.max(1, Math.ceil(effect.busyMs / 1000)));
    const { destinations, nowMs, clockMs, observe } = this.#options;
    const startedAtMs = clockMs();
    const destination = destinations.find(({ kind }) => kind === effect.kind);
    const outcome = await destination?.send({
      event,
      route: effect.route,
      tenant,
      nowMs: nowMs(),
      repeat: round,
      isTest: false,
      // None: a later version has made the route, and this process is still the one before.
    }) ?? failed("unknown_destination");
    // A kind of a later version is none of ours: its name is counted under no label.
    if (destination !== undefined) {
      const reason = outcome.kind === "done" ? null : outcome.reason;
      observe({ kind: "effect", destination: effect.kind, reason, durationMs: clockMs() - startedAtMs });
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
    this.#remember(keyOf(claim), outcome);
    await records.settle(claim, { reason: null, status, answer });
    this.#unrecorded.delete(keyOf(claim));
    return "done";
  }

  #remember(key: string, done: Done): void {
    this.#unrecorded.set(key, done);
    if (this.#unrecorded.size <= unrecordedMax) return;
    for (const oldest of this.#unrecorded.keys()) {
      this.#unrecorded.delete(oldest);
      return;
    }
  }
}

/** Of one round: what an operator has sent again is not done because it was done before. */
function keyOf({ eventId, routeId, round }: Claim): string {
  return `${eventId} ${routeId} ${round}`;
}

/** A kind is done when all of its recipients are; of several that failed it has the words of the first that was begun. */
function byKind(reports: readonly (readonly [string, EffectReport])[]): Map<string, EffectReport> {
  const all = new Map<string, EffectReport[]>();
  for (const [kind, report] of reports) all.set(kind, [...all.get(kind) ?? [], report]);
  return new Map([...all].map(([kind, ofKind]) => [kind, together(ofKind)]));
}

function together(reports: readonly EffectReport[]): EffectReport {
  const failures = reports.filter((report) => report !== "done");
  const first = failures.find(({ reason }) => reason !== notBegun) ?? failures[0];
  if (first === undefined) return "done";
  if (reports.length === 1) return first;
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return failed(
    `${first.reason} (${failures.length} of ${reports.length})`,
    waits.length === 0 ? null : Math.max(...waits),
  );
}
