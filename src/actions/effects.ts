/**
 * Does what is due for an event, each effect once, and records it effect by effect.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import type { Begun, BegunEffect, TenantNames } from "../store/delivery/effects.ts";
import type { Destination } from "./destination.ts";
import type { DeliveredEvent } from "./event.ts";
import { type Failed, failed, type Outcome } from "./outcome.ts";

/** An effect of an event, and the lease under which it is ours. */
export interface Claim {
  readonly eventId: string;
  readonly kind: string;
  readonly lease: string;
}

/** Where effects are claimed and recorded; it throws when the database is away. */
export interface EffectRecords {
  claim(
    event: { readonly eventId: string; readonly tenant: string },
    lease: { readonly id: string; readonly ms: number },
  ): Promise<Begun>;
  settle(claim: Claim, reason: string | null): Promise<void>;
}

/** What {@linkcode Effects} needs. */
export interface EffectsOptions {
  readonly records: EffectRecords;
  readonly destinations: readonly Destination[];
  /** The bound that every effect keeps. */
  readonly effectTimeoutMs: number;
  /** The wall clock, for what leaves the house; leases go by the database's. */
  readonly nowMs: () => number;
}

/** How the effects of an event stand after {@linkcode Effects.perform}. */
export type Performed =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  /** By the kind of their destinations; those that the tenant's route has, and any that was done before. */
  | { readonly kind: "settled"; readonly effects: ReadonlyMap<string, EffectReport> };

/** One effect. */
export type EffectReport = "done" | Failed;

// Between the claim and the effect's start, and between its end and the record, goes time as well.
const leaseMarginMs = 10_000;
// Effects that are done and not recorded, because the database went away in between; beyond that the oldest go.
const unrecordedMax = 10_000;

/** Performs the effects of events. */
export class Effects {
  readonly #options: EffectsOptions;
  /** Done, not recorded: so that a repeat to this process records it and does nothing else. */
  readonly #unrecorded = new Set<string>();

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
    return { kind: "settled", effects: new Map(await Promise.all(running)) };
  }

  async #run(
    event: DeliveredEvent,
    { effect, lease, tenant }: {
      readonly effect: BegunEffect;
      readonly lease: string;
      readonly tenant: TenantNames;
    },
  ): Promise<EffectReport> {
    if (effect.state === "done") return "done";
    const claim = { eventId: event.eventId, kind: effect.kind, lease };
    if (this.#unrecorded.has(keyOf(claim))) return await this.#record(claim, { kind: "done" });
    if (effect.state === "busy") return failed("in_progress", Math.max(1, Math.ceil(effect.busyMs / 1000)));
    const { destinations, nowMs } = this.#options;
    const destination = destinations.find(({ kind }) => kind === effect.kind);
    // None: a later version has made the route, and this process is still the one before.
    const outcome = await destination?.send({
      event,
      route: effect.route,
      tenant,
      nowMs: nowMs(),
      isTest: false,
    }) ?? failed("unknown_destination");
    return await this.#record(claim, outcome);
  }

  async #record(claim: Claim, outcome: Outcome): Promise<EffectReport> {
    const { records } = this.#options;
    if (outcome.kind === "failed") {
      await records.settle(claim, outcome.reason);
      return outcome;
    }
    this.#remember(keyOf(claim));
    await records.settle(claim, null);
    this.#unrecorded.delete(keyOf(claim));
    return "done";
  }

  #remember(key: string): void {
    this.#unrecorded.add(key);
    if (this.#unrecorded.size <= unrecordedMax) return;
    for (const oldest of this.#unrecorded) {
      this.#unrecorded.delete(oldest);
      return;
    }
  }
}

function keyOf({ eventId, kind }: Claim): string {
  return `${eventId} ${kind}`;
}
