/** Performs an event's due effects, each once, and records them one by one. */

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

/** Claims and records effects; throws if the database is unavailable. */
export interface EffectRecords {
  claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number },
  ): Promise<EffectClaims>;
  settle(claim: Claim, record: EffectRecord): Promise<void>;
}

/** Dependencies of {@linkcode Effects}. */
export interface EffectsOptions {
  readonly records: EffectRecords;
  readonly destinations: readonly Destination[];
  /** The time limit of each effect. */
  readonly effectTimeoutMs: number;
  /** Wall-clock time for messages; leases use the database's. */
  readonly nowMs: () => number;
  /** Monotonic, for durations. */
  readonly clockMs: () => number;
  readonly observe: (observation: ActionsObservation) => void;
}

/** The states of an event's effects. */
export type Performed =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  /** By kind: those of the tenant's routes, and any done before. */
  | { readonly kind: "settled"; readonly effects: ReadonlyMap<string, EffectReport> };

/** The state of a kind. */
export type EffectReport = "done" | Failed;

// Time for the claim and the record besides the effect.
const leaseMarginMs = 10_000;
// Effects done but not recorded because the database failed; beyond this the oldest are dropped.
const unrecordedMax = 10_000;

/** Performs events' effects. */
export class Effects {
  readonly #options: EffectsOptions;
  /** Done but not recorded; a repeat only records them. */
  readonly #unrecorded = new Map<string, Done>();

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  /**
   * Performs the event's due effects concurrently. A done effect is not repeated; one that another delivery is performing
   * counts as failed for now (`in_progress`). Throws if the records throw; done effects are recorded when the event returns.
   */
  async perform(event: DeliveredEvent): Promise<Performed> {
    const { records, effectTimeoutMs } = this.#options;
    const lease = randomUUID();
    const begun = await records.claim(event, { id: lease, ms: effectTimeoutMs + leaseMarginMs });
    if (begun.kind !== "begun") return { kind: begun.kind };
    const running = begun.effects.map(async (effect) =>
      [effect.kind, await this.#run(event, { effect, lease, tenant: begun.tenant })] as const
    );
    // Finish all of them, so that one failed record loses no other.
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
      // Unknown: a later version added the route while this process is still running.
    }) ?? failed("unknown_destination");
    // A later version's kind is counted without a label.
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

/** Identifies an effect within a round; sending again starts a new round. */
function keyOf({ eventId, routeId, round }: Claim): string {
  return `${eventId} ${routeId} ${round}`;
}

/** A kind is done when all its recipients are; otherwise it has the first failure. */
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
