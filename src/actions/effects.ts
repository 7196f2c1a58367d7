/**
 * Does what is due for an event, each effect once, and records it effect by effect.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import type { Begun, CrmRoute, Effect, EffectState } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import { failed, type Outcome } from "./outcome.ts";

/** An effect of an event, and the lease under which it is ours. */
export interface Claim {
  readonly eventId: string;
  readonly effect: Effect;
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
  readonly crm: { send(event: DeliveredEvent, route: CrmRoute, nowMs: number): Promise<Outcome> };
  /** `null`: no mail server is configured. */
  readonly mailer: { send(event: DeliveredEvent, address: string, nowMs: number): Promise<Outcome> } | null;
  /** The bound that both effects keep. */
  readonly effectTimeoutMs: number;
  /** The wall clock, for what leaves the house; leases go by the database's. */
  readonly nowMs: () => number;
}

/** How the effects of an event stand after {@linkcode Effects.perform}. */
export type Performed =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  | { readonly kind: "settled"; readonly effects: Readonly<Record<Effect, EffectReport>> };

/** One effect. */
export type EffectReport = "done" | "none" | Extract<Outcome, { kind: "failed" }>;

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
   * Performs what is due for the event, CRM and email at once. An effect that was done before is not
   * repeated; one that another delivery is at counts as failed for the moment (`in_progress`).
   *
   * Throws what the records throw. What was done until then is remembered, and recorded when the event comes again.
   */
  async perform(event: DeliveredEvent): Promise<Performed> {
    const { records, effectTimeoutMs } = this.#options;
    const lease = randomUUID();
    const begun = await records.claim(event, { id: lease, ms: effectTimeoutMs + leaseMarginMs });
    if (begun.kind !== "begun") return { kind: begun.kind };
    const run = async (effect: Effect) => {
      const state = begun.states[effect];
      const claim = { eventId: event.eventId, effect, lease };
      if (state === "due" || state === "busy") {
        if (this.#unrecorded.has(keyOf(claim))) return await this.#record(claim, { kind: "done" });
      }
      if (state !== "due") return reportOf(state, begun.busyMs);
      return await this.#record(claim, await this.#do(event, effect, begun));
    };
    // Both to their ends, also when one cannot be recorded: the other's record must not be lost with it.
    const [crm, email] = await Promise.allSettled([run("crm"), run("email")]);
    if (crm.status === "rejected") throw crm.reason;
    if (email.status === "rejected") throw email.reason;
    return { kind: "settled", effects: { crm: crm.value, email: email.value } };
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

  async #do(
    event: DeliveredEvent,
    effect: Effect,
    route: { readonly crm: CrmRoute | null; readonly emailAddress: string | null },
  ): Promise<Outcome> {
    const { crm, mailer, nowMs } = this.#options;
    if (effect === "crm") {
      return route.crm === null ? failed("no_route") : await crm.send(event, route.crm, nowMs());
    }
    if (mailer === null) return failed("smtp_not_configured");
    return route.emailAddress === null
      ? failed("no_route")
      : await mailer.send(event, route.emailAddress, nowMs());
  }
}

function keyOf({ eventId, effect }: Claim): string {
  return `${eventId} ${effect}`;
}

function reportOf(state: Exclude<EffectState, "due">, busyMs: number): EffectReport {
  if (state !== "busy") return state;
  const retryAfterSeconds = Math.max(1, Math.ceil(busyMs / 1000));
  return { kind: "failed", reason: "in_progress", retryAfterSeconds };
}
