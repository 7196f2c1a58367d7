/**
 * Submissions that are held for somebody to judge: their release, and their dismissal.
 *
 * @module
 */

import type postgres from "postgres";
import type { SubmissionVerdict } from "../serving/accept.ts";
import { acted, ask, askOne, type Bounded, bounded, countedMax, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** What a list shows of a held submission. */
export interface HeldSubmission {
  readonly submissionId: string;
  readonly tenant: string;
  readonly formKey: string;
  /** The label of the key that posted it. */
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly verdict: Exclude<SubmissionVerdict, "clean">;
  /** What the content earned, whatever the verdict. */
  readonly score: number;
  /** Names only. */
  readonly reasons: readonly string[];
  /** The beginnings of its first answers, by the name of the field. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A place in the list. */
export interface HeldPlace {
  readonly score: number;
  readonly submissionId: string;
}

/** Which held submissions are meant. */
interface HeldFilter {
  /** Of one tenant or, with `null`, of all. */
  readonly tenantId: number | null;
  /** `honeypot`: a program filled in the hidden field; `spam`: the content decided, and it may be a person's. */
  readonly verdict: HeldSubmission["verdict"];
  /** Only those with this reason; left out: whatever the reasons are. */
  readonly reason?: string | null;
}

/** Which of them to list. */
interface HeldPage extends HeldFilter {
  readonly limit: number;
  /** Only those behind this place; `null` begins with the first. */
  readonly after: HeldPlace | null;
}

// More than a list shows of one.
const fieldsMax = 40;
const valueLengthMax = 800;

const chosen = (sql: postgres.Sql, { tenantId, verdict, reason = null }: HeldFilter) =>
  sql`s.verdict = ${verdict} and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null
    ${tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`}
    ${reason === null ? sql`` : sql`and ${reason} = any (s.reasons)`}`;

/** The held submissions that nobody has judged, the lowest score first. Throws what {@linkcode Pool.run} throws. */
export async function listHeld(
  pool: Pool,
  { limit, after, ...filter }: HeldPage,
): Promise<HeldSubmission[]> {
  const rows = await ask(pool, (sql) => {
    const behind = after === null
      ? sql``
      : sql`and (s.score, s.event_id) > (${after.score}::int, ${after.submissionId} collate "C")`;
    return sql<HeldSubmission[]>`
      select
        s.event_id as "submissionId", t.slug as tenant, f.form_key as "formKey", k.label as source, s.verdict,
        s.score, s.reasons,
        coalesce((
          select json_object_agg(v.key, left(v.value, ${valueLengthMax}))
          from (select * from json_each_text(e.lead) as v where v.value is not null limit ${fieldsMax}) as v
        ), '{}') as fields,
        ${isoOf(sql, sql`e.received_at`)} as "receivedAt"
      from (
        select s.* from submission as s
        where ${chosen(sql, filter)} ${behind}
        order by s.score, s.event_id limit ${limit}
      ) as s
      join event as e on e.event_id = s.event_id
      join tenant as t on t.id = s.tenant_id
      join form as f on f.id = s.form_id
      join api_key as k on k.id = e.key_id
      order by s.score, s.event_id`;
  });
  return rows;
}

/**
 * What became of a release. `already`: it has been released before; `clean`: it was never held; `erased`: nothing is
 * left of it; `unknown`: there is no such submission.
 */
export type Release = "released" | "already" | "clean" | "erased" | "unknown";

/**
 * Hands a held submission over to the delivery, due at once, and notes it in the audit, in the same transaction.
 * `address` is where the console was asked from, `null` for the operator's command. Throws what {@linkcode Pool.run}
 * throws.
 */
export async function releaseSubmission(
  pool: Pool,
  submissionId: string,
  address: string | null,
): Promise<Release> {
  const row = await askOne(pool, (sql) => {
    return sql<{ release: Release }[]>`select ${
      acted(sql, address, "release_submission", sql`${submissionId}`)
    } as release`;
  });
  return row?.release ?? "unknown";
}

/** What became of a dismissal; `already`: it was dismissed before, or released. */
type Dismissal = "dismissed" | Exclude<Release, "released">;

/** Leaves a held submission held for good, and notes it as {@linkcode releaseSubmission} does. */
export async function dismissSubmission(
  pool: Pool,
  submissionId: string,
  address: string | null,
): Promise<Dismissal> {
  const row = await askOne(pool, (sql) => {
    return sql<{ dismissal: Dismissal }[]>`select ${
      acted(sql, address, "dismiss_submission", sql`${submissionId}`)
    } as dismissal`;
  });
  return row?.dismissal ?? "unknown";
}

/** What became of a label; `held`: it was not delivered, so it is dismissed instead. */
export type SpamMark = "marked" | "already" | "held" | "erased" | "unknown";

/** Says that a delivered submission was spam, or takes that back, and notes it as {@linkcode releaseSubmission} does. */
export async function markSpam(
  pool: Pool,
  submissionId: string,
  { isSpam, address }: { readonly isSpam: boolean; readonly address: string | null },
): Promise<SpamMark> {
  const row = await askOne(pool, (sql) => {
    return sql<{ mark: SpamMark }[]>`select ${
      acted(sql, address, "mark_spam", sql`${submissionId}, ${isSpam}`)
    } as mark`;
  });
  return row?.mark ?? "unknown";
}

/** Forgets all that the spam score has learned, and returns from how many submissions it was. */
export async function forgetSpamLearning(pool: Pool): Promise<number> {
  const row = await askOne(pool, (sql) => sql<{ count: number }[]>`select forget_spam_learning() as count`);
  return row?.count ?? 0;
}

/** How often an operator corrected the spam score in the last 30 days. */
export interface SpamCorrections {
  /** Held submissions that were released. */
  readonly released: number;
  /** Delivered submissions that were reported as spam. */
  readonly reported: number;
}

/** Counts them, of one tenant or of all. Throws what {@linkcode Pool.run} throws. */
export async function countCorrections(pool: Pool, tenantId: number | null): Promise<SpamCorrections> {
  const row = await askOne(pool, (sql) =>
    sql<SpamCorrections[]>`
      select
        count(*) filter (where s.label = 'ham')::int as released,
        count(*) filter (where s.label = 'spam' and (s.verdict = 'clean' or s.released_at is not null))::int as reported
      from submission as s
      where s.label is not null and s.labelled_at > service_clock() - interval '30 days'
        ${tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`}`);
  return row ?? { released: 0, reported: 0 };
}

/** How many submissions wait for somebody to judge them, counted up to a bound. */
export async function countHeld(pool: Pool, filter: HeldFilter): Promise<Bounded> {
  const row = await askOne(pool, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int from (
        select from submission as s where ${chosen(sql, filter)} limit ${countedMax + 1}
      ) as s`);
  return bounded(row?.count ?? 0);
}
