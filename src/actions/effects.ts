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
  RecipeRoute,
  RecordedEffect,
  RouteScope,
  TenantNames,
} from "../store/delivery/effects.ts";
import { type EarlierPosts, noEarlierPosts } from "../store/delivery/earlier_posts.ts";
import { runTimeoutMs } from "./crm/engine.ts";
import type { Destination } from "./destination.ts";
import type { ActionsObservation } from "../observe/actions_meters.ts";
import type { DeliveredEvent } from "./event.ts";
import { type Done, type Failed, failed, type Outcome, queueTimeout, waiting } from "./outcome.ts";

/** Claims and records effects; each method rejects if the database is unavailable. */
export interface EffectRecords {
  claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number; readonly recipeMs: number },
  ): Promise<EffectClaims>;
  settle(claim: Claim, record: EffectRecord): Promise<RecordedEffect>;
  saveProgress(claim: Claim, progress: string): Promise<void>;
}

export interface EffectRunnerOptions {
  readonly records: EffectRecords;
  /** Finds earlier posts with the event's phone number; never rejects, and takes at most a fraction of a second. */
  readonly earlierPosts: (eventId: string) => Promise<EarlierPosts>;
  readonly destinations: readonly Destination[];
  /** The time limit for each request, and for each email. */
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
  readonly #unrecorded = new Map<string, { readonly done: Done; readonly recipe: RecipeRoute | null }>();

  constructor(options: EffectRunnerOptions) {
    this.#options = options;
  }

  /**
   * Performs the event's due effects concurrently. A completed effect is not repeated; an effect that another delivery is
   * performing counts as failed (`in_progress`). Rejects if the database is unavailable.
   */
  async perform(event: DeliveredEvent): Promise<PerformResult> {
    const { records, earlierPosts, effectTimeoutMs } = this.#options;
    const lease = randomUUID();
    const claims = await records.claim(event, {
      id: lease,
      ms: effectTimeoutMs + leaseMarginMs,
      recipeMs: runTimeoutMs(effectTimeoutMs) + leaseMarginMs,
    });
    if (claims.kind !== "claimed") return { kind: claims.kind };
    const earlier = claims.effects.some(isRendered) ? await earlierPosts(event.eventId) : noEarlierPosts;
    const running = claims.effects.map(async (effect) =>
      [effect.kind, await this.#run(event, { effect, lease, tenant: claims.tenant, earlier })] as const
    );
    // Waits for all effects, so that a failure to record one does not abandon the others.
    await Promise.allSettled(running);
    return { kind: "settled", effects: mergeByKind(await Promise.all(running)) };
  }

  async #run(
    event: DeliveredEvent,
    { effect, lease, tenant, earlier }: {
      readonly effect: ClaimedEffect;
      readonly lease: string;
      readonly tenant: TenantNames;
      readonly earlier: EarlierPosts;
    },
  ): Promise<EffectReport> {
    if (effect.state === "done") return "done";
    if (effect.state === "refused") return { ...failed(effect.reason), kind: "refused" };
    if (effect.state === "waiting") return waiting(effect.reason, effect.waitMs);
    const { routeId, round } = effect;
    const claim = { eventId: event.eventId, routeId, round, lease };
    const unrecorded = this.#unrecorded.get(claimKey(claim));
    if (unrecorded !== undefined) return await this.#record(claim, unrecorded.done, unrecorded.recipe);
    if (effect.state === "busy") return failed("in_progress", Math.max(1, Math.ceil(effect.waitMs / 1000)));
    const { records, destinations, nowMs, monotonicMs, observe } = this.#options;
    const startedAtMs = monotonicMs();
    const destination = destinations.find(({ kind }) => kind === effect.kind);
    const outcome = await destination?.send({
      event,
      route: effect.route,
      tenant,
      nowMs: nowMs(),
      repeat: round,
      isTest: false,
      earlier,
      progress: effect.progress,
      saveProgress: (progress) => records.saveProgress(claim, progress),
    }) ?? failed("unknown_destination");
    // A kind is unknown if a newer version, which runs alongside this process, added it.
    if (destination !== undefined) {
      const reason = outcome.kind === "done" ? null : outcome.reason;
      observe({ kind: "effect", destination: effect.kind, reason, durationMs: monotonicMs() - startedAtMs });
    }
    const { recipe } = effect.route;
    // A success that sent nothing says nothing about the CRM.
    const isSent = recipe !== null && !(outcome.kind === "done" && outcome.isUnsent === true);
    return await this.#record(
      claim,
      outcome,
      isSent ? { tenant: tenant.slug, changedAt: recipe.changedAt } : null,
    );
  }

  async #record(claim: Claim, outcome: Outcome, recipe: RecipeRoute | null): Promise<EffectReport> {
    const { records } = this.#options;
    const { kind, status = null, answer = null, headers = null } = outcome;
    if (kind === "done") {
      this.#remember(claimKey(claim), outcome, recipe);
      await records.settle(claim, { outcome: kind, reason: null, status, answer, headers, recipe });
      this.#unrecorded.delete(claimKey(claim));
      return "done";
    }
    const { reason } = outcome;
    const recorded = await records.settle(claim, { outcome: kind, reason, status, answer, headers, recipe });
    if (recorded.outcome === "waiting" && recorded.waitMs !== null) {
      return waiting(recorded.reason ?? reason, recorded.waitMs);
    }
    return { ...outcome, kind: recorded.outcome === "done" ? kind : recorded.outcome };
  }

  #remember(key: string, done: Done, recipe: RecipeRoute | null): void {
    this.#unrecorded.set(key, { done, recipe });
    const [oldest = key] = this.#unrecorded.keys();
    if (this.#unrecorded.size > unrecordedMax) this.#unrecorded.delete(oldest);
  }
}

/** Whether an effect is sent a text for people; a webhook gets the event alone. */
function isRendered(effect: ClaimedEffect): boolean {
  return effect.state === "due" && (effect.kind !== "crm" || effect.route.recipe !== null);
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
  // Several recipients wait only for the end of a pause, which lasts longer than the retries of a failed effect.
  const waiting = failures.find(({ kind }) => kind === "waiting");
  const isFailed = failures.some(({ kind }) => kind === "failed");
  if (waiting !== undefined && !isFailed) return waiting;
  if (reports.length === 1) return first;
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return failed(
    `${first.reason} (${failures.length} of ${reports.length})`,
    waits.length === 0 ? null : Math.max(...waits),
  );
}
