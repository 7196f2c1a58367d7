/** Generates a month of realistic data hour by hour: leads and forms for a few tenants, including failures. */

import { randomUUID } from "node:crypto";
import { RecentTexts } from "#src/forms/recent_texts.ts";
import { classify, toEntry as formEntry } from "../../src/forms/handle.ts";
import { readFields } from "../../src/forms/fields.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../../src/gate/idempotency_key.ts";
import { toEntry as leadEntry } from "../../src/intake/handle.ts";
import { validate } from "../../src/lead/validate.ts";
import { settlementOf } from "../../src/delivery/settlement.ts";
import type { SendOutcome } from "../../src/delivery/send.ts";
import { type Claimed, OutboxStore } from "../../src/store/delivery/outbox.ts";
import { AcceptStore, type Entry } from "../../src/store/serving/accept.ts";
import { readReference, type Reference } from "../../src/store/serving/reference.ts";
import { Totals } from "../../src/store/serving/totals.ts";
import type { PastDatabase } from "./past.ts";
import { randomForm, randomLead, SeededRandom } from "./people.ts";
import type { DemoSource, DemoTenant } from "./tenants.ts";

export interface Counts {
  readonly leads: number;
  readonly forms: number;
  readonly refusals: readonly Refusal[];
}

/** A post that the intake refused. */
export interface Refusal {
  /** ISO 8601. */
  readonly at: string;
  readonly code: string;
}

/** The failure reasons of events that will become dead letters, by id. */
type DeadReasons = Map<string, string>;

const hourMs = 3_600_000;
const days = 30;
// The number of leads in each hour of the day, relative to the busiest hour.
const hourlyActivity = [1, 1, 0, 0, 1, 2, 4, 6, 8, 10, 10, 9, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((
  activity,
) => activity / 10);
const weekendFactor = 0.45;
// How many days ago the actions tier was unavailable for an hour.
const outageDaysAgo = 2;

/** Adds the data for the month before `nowMs`. */
export async function fillMonth(
  { pool, at }: PastDatabase,
  { tenants, nowMs }: { readonly tenants: readonly DemoTenant[]; readonly nowMs: number },
): Promise<Counts> {
  const random = new SeededRandom(11);
  const reference = await readReference(pool, () => performance.now());
  const accepts = new AcceptStore(pool, { node: "demo", nowMs: () => performance.now() });
  const outbox = new OutboxStore(pool, { newLease: randomUUID, leaseMs: 60_000, attemptsMax: 24 });
  const totals = new Totals({ pool, observe: () => {}, nowMs: () => performance.now() });
  const sources = tenants.flatMap((tenant) => tenant.sources.map((source) => ({ tenant, source })));
  const counts = { leads: 0, forms: 0 };
  const refusals: Refusal[] = [];
  const deadReasons: DeadReasons = new Map();
  const postCounters = new PostCounters();
  const outageMs = Math.floor(nowMs / hourMs) * hourMs - outageDaysAgo * 24 * hourMs;

  for (let hour = Math.floor(nowMs / hourMs) - days * 24; hour * hourMs < nowMs; hour++) {
    const atMs = hour * hourMs + random.integerBelow(hourMs / 2);
    const date = new Date(atMs);
    const activity = (hourlyActivity[date.getUTCHours()] ?? 0) *
      (date.getUTCDay() % 6 === 0 ? weekendFactor : 1);
    const entries = sources.flatMap(({ tenant, source }) =>
      Array.from(
        { length: random.integerAround(activity * source.busiestHourPosts) },
        () => inventEntry(random, { tenant, source, reference, date, ordinal: postCounters.next(source) }),
      )
    ).filter((entry) => entry !== null);
    // The rest of the current hour is in the future.
    if (atMs > nowMs - 60_000) break;
    await at(atMs);
    if (entries.length > 0) {
      await accepts.accept(entries, 30_000);
      for (const entry of entries) totals.used(entry.keyId, date.toISOString());
      counts.leads += entries.filter(({ kind }) => kind === "lead").length;
      counts.forms += entries.filter(({ kind }) => kind === "form").length;
    }
    const refused = sources.map(({ tenant, source }) =>
      addRefusals(random, totals, { tenant, source, reference, activity })
    )
      .filter((code) => code !== null);
    refusals.push(...refused.map((code) => ({ at: date.toISOString(), code })));
    await totals.runOnce();
    await settleDeliveries(random, outbox, {
      tenants,
      at,
      atMs,
      deadReasons,
      isOutage: Math.abs(atMs - outageMs) < hourMs,
    });
  }
  return { ...counts, refusals };
}

/** Numbers each source's posts, starting at 1. */
class PostCounters {
  readonly #sent = new Map<DemoSource, number>();

  next(source: DemoSource): number {
    const ordinal = (this.#sent.get(source) ?? 0) + 1;
    this.#sent.set(source, ordinal);
    return ordinal;
  }
}

const noKey: UsableIdempotencyKey = readIdempotencyKey([]) as UsableIdempotencyKey;

/** Invents an entry; returns `null` if the validator rejects the post. */
function inventEntry(
  random: SeededRandom,
  { tenant, source, reference, date, ordinal }: {
    readonly tenant: DemoTenant;
    readonly source: DemoSource;
    readonly reference: Reference;
    readonly date: Date;
    readonly ordinal: number;
  },
): Entry | null {
  const key = { id: source.keyId, tenantId: tenant.id };
  const post = { arrivedAtMs: performance.now(), requestId: null };
  if (source.surface === "forms") {
    const raw = JSON.stringify(randomForm(random));
    const posted = readFields(raw);
    if (posted === null) return null;
    const submission = classify(posted, tenant.form, { ...untrained, wallMs: () => date.getTime() });
    return formEntry(key, tenant.form, {
      kind: "valid",
      posted,
      raw,
      idempotencyKey: noKey,
      submission,
      ...post,
    });
  }
  const raw = JSON.stringify(randomLead(random, tenant.areas));
  const validation = validate(raw, reference.areaIndex);
  if (validation.kind !== "valid") return null;
  // Sometimes the provider's counter for Idempotency-Keys restarts, which causes collisions.
  const text = `${source.label}:${ordinal % 100 === 0 ? 1 : random.integerBelow(1e9)}`;
  const idempotencyKey = readIdempotencyKey([text]) as UsableIdempotencyKey;
  return leadEntry(key, { ...validation, raw, idempotencyKey }, post);
}

/** The inputs of the spam score before it has learned anything. */
const untrained = { lessons: new Map(), recentTexts: new RecentTexts() };

/** Counts a source's duplicates and invalid posts in `totals`; returns the code of a refusal, if any. */
function addRefusals(
  random: SeededRandom,
  totals: Totals,
  { tenant, source: { keyId, surface }, reference, activity }: {
    readonly tenant: DemoTenant;
    readonly source: DemoSource;
    readonly reference: Reference;
    readonly activity: number;
  },
): string | null {
  if (surface === "forms") return null;
  if (random.next() < activity * 0.2) totals.duplicate(keyId, 1 + random.integerBelow(2));
  if (random.next() >= activity * 0.24) return null;
  const lead = randomLead(random, tenant.areas);
  const invalidFields = random.pick([{ last_name: "" }, { last_name: " ", phone: undefined }, { cost: 0 }, {
    cost: "free",
  }]);
  const { kind: code, ...found } = validate(
    JSON.stringify({ ...lead, ...invalidFields }),
    reference.areaIndex,
  );
  totals.refused(keyId, code, "fields" in found ? found.fields : undefined);
  return code;
}

// The defaults of DELIVERY_BACKOFF_BASE_MS, DELIVERY_BACKOFF_CAP_MS and DELIVERY_ATTEMPTS_MAX.
const retrySettings = { baseMs: 5_000, capMs: 21_600_000, attemptsMax: 24 };

/** Settles due deliveries as the delivery loop does; some are to be retried, and some become dead letters. */
async function settleDeliveries(
  random: SeededRandom,
  outbox: OutboxStore,
  { tenants, at, atMs, deadReasons, isOutage }: {
    readonly tenants: readonly DemoTenant[];
    readonly at: PastDatabase["at"];
    readonly atMs: number;
    readonly deadReasons: DeadReasons;
    readonly isOutage: boolean;
  },
): Promise<void> {
  const requests = tenants.map(({ id }) => ({ tenantId: id, floor: "-infinity", limit: 200 }));
  const claimed = await outbox.claim(requests);
  if (claimed.length === 0) return;
  await at(atMs + 400 + random.integerBelow(2_500));
  await outbox.settle(claimed.map((one) => {
    const attempt = { durationMs: 80 + random.integerBelow(900), isProbe: isOutage, random: random.next() };
    return settlementOf(
      one,
      outcomeOf(random, one, { deadReasons, isOutage }),
      attempt,
      retrySettings,
    );
  }));
}

function outcomeOf(
  random: SeededRandom,
  { event_id: id, number }: Claimed,
  { deadReasons, isOutage }: { readonly deadReasons: DeadReasons; readonly isOutage: boolean },
): SendOutcome {
  if (isOutage) {
    const failure = { cause: "refused", code: "ECONNREFUSED" } as const;
    return { kind: "unreachable", status: null, reason: failure.code, failure, isSent: true };
  }
  const refused = { kind: "refused", status: 424, retryAfterMs: 0, next: "repeat" } as const;
  const chance = random.next();
  if (number === 1 && chance < 0.006) {
    deadReasons.set(
      id,
      random.pick(["crm failed: http_401", "crm failed: http_422", "email failed: smtp_rejected_550"]),
    );
  }
  const reason = deadReasons.get(id);
  if (reason !== undefined) return { ...refused, reason };
  return chance < 0.03
    ? { ...refused, reason: random.pick(["crm failed: timeout_answer", "crm failed: http_503"]) }
    : { kind: "delivered", status: 200 };
}
