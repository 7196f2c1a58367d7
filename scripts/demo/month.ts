/** A month of realistic data: leads and forms of a few tenants, hour by hour, including failures. */

import { randomUUID } from "node:crypto";
import { RecentTexts } from "#src/forms/recent_texts.ts";
import { examine, toEntry as formEntry } from "../../src/forms/handle.ts";
import { readFields } from "../../src/forms/fields.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../../src/gate/idempotency_key.ts";
import { toEntry as leadEntry } from "../../src/intake/handle.ts";
import { validate } from "../../src/lead/validate.ts";
import { judge } from "../../src/delivery/judge.ts";
import type { SendOutcome } from "../../src/delivery/send.ts";
import { type Claimed, OutboxStore } from "../../src/store/delivery/outbox.ts";
import { AcceptStore, type Entry } from "../../src/store/serving/accept.ts";
import { readReference, type Reference } from "../../src/store/serving/reference.ts";
import { Totals } from "../../src/store/serving/totals.ts";
import type { Past } from "./past.ts";
import { inventForm, inventLead, Luck } from "./people.ts";
import type { DemoSource, DemoTenant } from "./tenants.ts";

/** What was added. */
export interface Counts {
  readonly leads: number;
  readonly forms: number;
  /** Refused posts. */
  readonly refusals: readonly Refusal[];
}

/** A refused post. */
export interface Refusal {
  /** ISO 8601. */
  readonly at: string;
  readonly code: string;
}

/** Why events will become dead letters, by id. */
type Dying = Map<string, string>;

const hourMs = 3_600_000;
const days = 30;
// Leads by hour of the day, relative to the busiest hour.
const byHour = [1, 1, 0, 0, 1, 2, 4, 6, 8, 10, 10, 9, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((part) =>
  part / 10
);
const weekend = 0.45;
// Two days ago the actions tier was unavailable for an hour.
const outageDaysAgo = 2;

/** Adds the month up to `nowMs`. */
export async function fillMonth(
  { pool, at }: Past,
  { tenants, nowMs }: { readonly tenants: readonly DemoTenant[]; readonly nowMs: number },
): Promise<Counts> {
  const luck = new Luck(11);
  const reference = await readReference(pool, () => performance.now());
  const accepts = new AcceptStore(pool, { node: "demo", nowMs: () => performance.now() });
  const outbox = new OutboxStore(pool, { newLease: randomUUID, leaseMs: 60_000, attemptsMax: 24 });
  const totals = new Totals(pool, () => {});
  const sources = tenants.flatMap((tenant) => tenant.sources.map((source) => ({ tenant, source })));
  const counts = { leads: 0, forms: 0 };
  const refusals: Refusal[] = [];
  const dying: Dying = new Map();
  const ordinals = new Ordinals();
  const outageMs = Math.floor(nowMs / hourMs) * hourMs - outageDaysAgo * 24 * hourMs;

  for (let hour = Math.floor(nowMs / hourMs) - days * 24; hour * hourMs < nowMs; hour++) {
    const moment = hour * hourMs + luck.below(hourMs / 2);
    const date = new Date(moment);
    const part = (byHour[date.getUTCHours()] ?? 0) * (date.getUTCDay() % 6 === 0 ? weekend : 1);
    const entries = sources.flatMap(({ tenant, source }) =>
      Array.from(
        { length: luck.about(part * source.busiest) },
        () => invent(luck, { tenant, source, reference, date, ordinal: ordinals.next(source) }),
      )
    ).filter((entry) => entry !== null);
    // The current hour is not over.
    if (moment > nowMs - 60_000) break;
    await at(moment);
    if (entries.length > 0) {
      await accepts.accept(entries, 30_000);
      for (const entry of entries) totals.used(entry.keyId, date.toISOString());
      counts.leads += entries.filter(({ kind }) => kind === "lead").length;
      counts.forms += entries.filter(({ kind }) => kind === "form").length;
    }
    const refused = sources.map(({ tenant, source }) =>
      refuse(luck, totals, { tenant, source, reference, part })
    )
      .filter((code) => code !== null);
    refusals.push(...refused.map((code) => ({ at: date.toISOString(), code })));
    await totals.runOnce();
    await deliver(luck, outbox, { tenants, at, moment, dying, isAway: Math.abs(moment - outageMs) < hourMs });
  }
  return { ...counts, refusals };
}

/** Counts each source's posts, from 1. */
class Ordinals {
  readonly #sent = new Map<DemoSource, number>();

  next(source: DemoSource): number {
    const ordinal = (this.#sent.get(source) ?? 0) + 1;
    this.#sent.set(source, ordinal);
    return ordinal;
  }
}

const noKey: UsableIdempotencyKey = readIdempotencyKey([]) as UsableIdempotencyKey;

/** `null` if the validator rejects it. */
function invent(
  luck: Luck,
  { tenant, source, reference, date, ordinal }: {
    readonly tenant: DemoTenant;
    readonly source: DemoSource;
    readonly reference: Reference;
    readonly date: Date;
    readonly ordinal: number;
  },
): Entry | null {
  const key = { id: source.keyId, tenantId: tenant.id };
  const arrivedAtMs = performance.now();
  if (source.surface === "forms") {
    const raw = JSON.stringify(inventForm(luck));
    const posted = readFields(raw);
    if (posted === null) return null;
    const submission = examine(posted, tenant.form, { ...untaught, wallMs: () => date.getTime() });
    return formEntry(key, tenant.form, {
      ...{ kind: "valid", posted, raw, idempotencyKey: noKey, submission, arrivedAtMs },
    });
  }
  const raw = JSON.stringify(inventLead(luck, tenant.areas));
  const validation = validate(raw, reference.areaIndex);
  if (validation.kind !== "valid") return null;
  // A provider whose key counter restarts now and then: the collision that loses leads silently.
  const text = `${source.label}:${ordinal % 100 === 0 ? 1 : luck.below(1e9)}`;
  const idempotencyKey = readIdempotencyKey([text]) as UsableIdempotencyKey;
  return leadEntry(key, { ...validation, raw, idempotencyKey }, arrivedAtMs);
}

/** The spam score before any learning. */
const untaught = { lessons: () => new Map(), recentTexts: new RecentTexts() };

/** A source's invalid posts and repeats; returns the code of a refusal. */
function refuse(
  luck: Luck,
  totals: Totals,
  { tenant, source: { keyId, surface }, reference, part }: {
    readonly tenant: DemoTenant;
    readonly source: DemoSource;
    readonly reference: Reference;
    readonly part: number;
  },
): string | null {
  if (surface === "forms") return null;
  if (luck.next() < part * 0.2) totals.duplicate(keyId, 1 + luck.below(2));
  if (luck.next() >= part * 0.24) return null;
  const lead = inventLead(luck, tenant.areas);
  const wrong = luck.pick([{ last_name: "" }, { last_name: " ", phone: undefined }, { cost: 0 }, {
    cost: "free",
  }]);
  const { kind: code, ...found } = validate(JSON.stringify({ ...lead, ...wrong }), reference.areaIndex);
  totals.refused(keyId, code, "fields" in found ? found.fields : undefined);
  return code;
}

// The defaults of DELIVERY_BACKOFF_BASE_MS, DELIVERY_BACKOFF_CAP_MS and DELIVERY_ATTEMPTS_MAX.
const bounds = { baseMs: 5_000, capMs: 21_600_000, attemptsMax: 24 };

/** Settles due deliveries as the loop does: some later, some never. */
async function deliver(
  luck: Luck,
  outbox: OutboxStore,
  { tenants, at, moment, dying, isAway }: {
    readonly tenants: readonly DemoTenant[];
    readonly at: Past["at"];
    readonly moment: number;
    readonly dying: Dying;
    readonly isAway: boolean;
  },
): Promise<void> {
  const requests = tenants.map(({ id }) => ({ tenantId: id, floor: "-infinity", limit: 200 }));
  const claimed = await outbox.claim(requests);
  if (claimed.length === 0) return;
  await at(moment + 400 + luck.below(2_500));
  await outbox.settle(claimed.map((one) => {
    const attempt = { durationMs: 80 + luck.below(900), isProbe: isAway, random: luck.next() };
    return judge(one, outcomeOf(luck, one, { dying, isAway }), attempt, bounds);
  }));
}

function outcomeOf(
  luck: Luck,
  { event_id: id, number }: Claimed,
  { dying, isAway }: { readonly dying: Dying; readonly isAway: boolean },
): SendOutcome {
  if (isAway) {
    const failure = { cause: "refused", code: "ECONNREFUSED" } as const;
    return { kind: "unreachable", status: null, reason: failure.code, failure, isSent: true };
  }
  const refused = { kind: "refused", status: 424, retryAfterMs: 0 } as const;
  const how = luck.next();
  if (number === 1 && how < 0.006) {
    dying.set(
      id,
      luck.pick(["crm failed: http_401", "crm failed: http_422", "email failed: smtp_rejected_550"]),
    );
  }
  const reason = dying.get(id);
  if (reason !== undefined) return { ...refused, reason };
  return how < 0.03
    ? { ...refused, reason: luck.pick(["crm failed: timeout_answer", "crm failed: http_503"]) }
    : { kind: "delivered", status: 200 };
}
