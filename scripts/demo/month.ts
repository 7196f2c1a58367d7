/**
 * A month of believable data: leads and forms of a few tenants, hour by hour, with what goes wrong in a month.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import { RecentTexts } from "#src/forms/recent_texts.ts";
import { examine, toEntry as formEntry } from "../../src/forms/handle.ts";
import { readFields } from "../../src/forms/fields.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../../src/gate/idempotency_key.ts";
import { toEntry as leadEntry } from "../../src/intake/handle.ts";
import { validate } from "../../src/lead/validate.ts";
import { type Claimed, OutboxStore, type Settlement } from "../../src/store/delivery/outbox.ts";
import { AcceptStore, type Entry } from "../../src/store/serving/accept.ts";
import { readReference, type Reference } from "../../src/store/serving/reference.ts";
import { Totals } from "../../src/store/serving/totals.ts";
import type { Past } from "./past.ts";
import { inventForm, inventLead, Luck } from "./people.ts";
import type { DemoSource, DemoTenant } from "./tenants.ts";

/** What was put in. */
export interface Counts {
  readonly leads: number;
  readonly forms: number;
}

const hourMs = 3_600_000;
const days = 30;
// Leads by the hour of the day, as a share of the busiest.
const byHour = [1, 1, 0, 0, 1, 2, 4, 6, 8, 10, 10, 9, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((part) =>
  part / 10
);
const weekend = 0.45;
// Two days ago the actions tier was away for an hour.
const outageDaysAgo = 2;

/** Puts the month in, up to `nowMs`. */
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
    // The last hour is not over.
    if (moment > nowMs - 60_000) break;
    await at(moment);
    if (entries.length > 0) {
      await accepts.accept(entries, 30_000);
      for (const entry of entries) totals.used(entry.keyId, date.toISOString());
      counts.leads += entries.filter(({ kind }) => kind === "lead").length;
      counts.forms += entries.filter(({ kind }) => kind === "form").length;
    }
    for (const { source } of sources) refuse(luck, totals, source, part);
    await totals.runOnce();
    await deliver(luck, outbox, { tenants, at, moment, isAway: Math.abs(moment - outageMs) < hourMs });
  }
  return counts;
}

/** Counts what each source has sent, from 1. */
class Ordinals {
  readonly #sent = new Map<DemoSource, number>();

  next(source: DemoSource): number {
    const ordinal = (this.#sent.get(source) ?? 0) + 1;
    this.#sent.set(source, ordinal);
    return ordinal;
  }
}

const noKey: UsableIdempotencyKey = readIdempotencyKey([]) as UsableIdempotencyKey;

/** `null`: the validator refuses it. */
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
  // A provider that counts its keys from 1 again now and then: the worst that can happen to a lead, and silent.
  const text = `${source.label}:${ordinal % 100 === 0 ? 1 : luck.below(1e9)}`;
  const idempotencyKey = readIdempotencyKey([text]) as UsableIdempotencyKey;
  return leadEntry(key, { ...validation, raw, idempotencyKey }, arrivedAtMs);
}

/** The spam score as it is on the first day. */
const untaught = { lessons: () => new Map(), recentTexts: new RecentTexts() };

function refuse(luck: Luck, totals: Totals, { keyId, surface }: DemoSource, part: number): void {
  if (surface === "forms") return;
  if (luck.next() < part * 0.15) totals.refused(keyId, "required", luck.pick(["last_name", "phone"]));
  if (luck.next() < part * 0.05) totals.refused(keyId, "out_of_range", "cost");
  if (luck.next() < part * 0.04) totals.refused(keyId, "invalid_json", "");
  if (luck.next() < part * 0.2) totals.duplicate(keyId, 1 + luck.below(2));
}

/** Settles what is due as the loop would, some of it later, and some of it never. */
async function deliver(
  luck: Luck,
  outbox: OutboxStore,
  { tenants, at, moment, isAway }: {
    readonly tenants: readonly DemoTenant[];
    readonly at: Past["at"];
    readonly moment: number;
    readonly isAway: boolean;
  },
): Promise<void> {
  const requests = tenants.map(({ id }) => ({ tenantId: id, floor: "-infinity", limit: 200 }));
  const claimed = await outbox.claim(requests);
  if (claimed.length === 0) return;
  await at(moment + 400 + luck.below(2_500));
  await outbox.settle(claimed.map((one) => settlementOf(luck, one, isAway)));
}

function settlementOf(luck: Luck, one: Claimed, isAway: boolean): Settlement {
  const { event_id: eventId, tenant_id: tenantId, lease, number } = one;
  const how = luck.next();
  const settled = { eventId, tenantId, lease, number, durationMs: 80 + luck.below(900), isRepeat: false };
  const refused = { outcome: "refused", status: 424, isSpent: true } as const;
  if (isAway) {
    const away = { outcome: "unreachable", status: null, reason: "ECONNREFUSED", isSpent: false } as const;
    return { ...settled, ...away, kind: "retry", retryMs: 600_000 };
  }
  if (how < 0.006) {
    const reason = luck.pick(["crm failed: 401", "crm failed: 422", "email failed: 550"]);
    return { ...settled, ...refused, kind: "dead", reason, retryMs: 0 };
  }
  if (how < 0.03) {
    const reason = luck.pick(["crm failed: timeout", "crm failed: 503"]);
    return { ...settled, ...refused, kind: "retry", reason, retryMs: 900_000 };
  }
  const delivered = { outcome: "delivered", status: 200, reason: null, isSpent: true } as const;
  return { ...settled, ...delivered, kind: "delivered", retryMs: 0 };
}
