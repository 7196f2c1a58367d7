/** Held submissions, and operators' decisions about them. */

import type postgres from "postgres";
import type { SubmissionVerdict } from "../serving/accept.ts";
import { ask, askOne, type BoundedCount, boundedCount, countedMax, decide, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** A held submission in a list. */
export interface HeldSubmission {
  readonly submissionId: string;
  readonly tenant: string;
  readonly formKey: string;
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly verdict: Exclude<SubmissionVerdict, "clean">;
  /** The content's score, whatever the verdict. */
  readonly score: number;
  readonly reasons: readonly string[];
  /** The starts of its first values, by field name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A position in the list. */
export interface HeldCursor {
  readonly score: number;
  readonly submissionId: string;
}

interface HeldFilter {
  /** `null`: all tenants. */
  readonly tenantId: number | null;
  /** `honeypot`: the hidden field was filled in; `spam`: the content decided. */
  readonly verdict: HeldSubmission["verdict"];
  /** Only those with this reason. */
  readonly reason?: string | null;
}

interface HeldPage extends HeldFilter {
  readonly limit: number;
  /** Only those behind this position. */
  readonly after: HeldCursor | null;
}

// More than a list shows of one submission.
const fieldsMax = 40;
const valueLengthMax = 800;

const chosen = (sql: postgres.Sql, { tenantId, verdict, reason = null }: HeldFilter) =>
  sql`s.verdict = ${verdict} and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null
    ${tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`}
    ${reason === null ? sql`` : sql`and ${reason} = any (s.reasons)`}`;

/** The unjudged held submissions, lowest score first. */
export async function listHeld(
  pool: Pool,
  { limit, after, ...filter }: HeldPage,
): Promise<HeldSubmission[]> {
  return await ask(pool, (sql) => {
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
}

/** `already`: released before; `clean`: never held; `erased`: content removed; `unknown`: no such submission. */
export type Release = "released" | "already" | "clean" | "erased" | "unknown";

/** Queues a held submission for delivery and audits it. `address` is the console's client, `null` for ctl. */
export async function releaseSubmission(
  pool: Pool,
  submissionId: string,
  address: string | null,
): Promise<Release> {
  return await decide(pool, address, "release_submission", (sql) => sql`${submissionId}`);
}

/** `already`: dismissed before, or released. */
type Dismissal = "dismissed" | Exclude<Release, "released">;

/** Keeps a submission held for good, and audits it as {@linkcode releaseSubmission} does. */
export async function dismissSubmission(
  pool: Pool,
  submissionId: string,
  address: string | null,
): Promise<Dismissal> {
  return await decide(pool, address, "dismiss_submission", (sql) => sql`${submissionId}`);
}

/** `held`: it was not delivered; dismiss it instead. */
export type SpamMark = "marked" | "already" | "held" | "erased" | "unknown";

/**
 * Labels a delivered submission as spam, or removes the label, and audits it as {@linkcode releaseSubmission} does.
 */
export async function markSpam(
  pool: Pool,
  submissionId: string,
  { isSpam, address }: { readonly isSpam: boolean; readonly address: string | null },
): Promise<SpamMark> {
  return await decide(pool, address, "mark_spam", (sql) => sql`${submissionId}, ${isSpam}`);
}

/** Discards what the spam score has learned, and returns from how many submissions. */
export async function forgetSpamLearning(pool: Pool): Promise<number> {
  const row = await askOne(pool, (sql) => sql<{ count: number }[]>`select forget_spam_learning() as count`);
  return row?.count ?? 0;
}

/** Operators' corrections of the spam score in the last 30 days. */
export interface SpamCorrections {
  /** Held submissions that were released. */
  readonly released: number;
  /** Delivered submissions that were reported as spam. */
  readonly reported: number;
}

/** Counts the corrections of one tenant or of all. */
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

/** The number of unjudged held submissions, up to a bound. */
export async function countHeld(pool: Pool, filter: HeldFilter): Promise<BoundedCount> {
  const row = await askOne(pool, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int from (
        select from submission as s where ${chosen(sql, filter)} limit ${countedMax + 1}
      ) as s`);
  return boundedCount(row?.count ?? 0);
}
