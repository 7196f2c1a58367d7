/** Lists held submissions and records operators' decisions about them. */

import type postgres from "postgres";
import type { SubmissionVerdict } from "../serving/accept.ts";
import { type BoundedCount, boundedCount, countedMax, isoTime, runOperatorCall } from "./admin_pool.ts";
import { type LabelFeatures, readLabelFeatures } from "../label_features.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

export interface HeldSubmission {
  readonly submissionId: string;
  readonly tenant: string;
  readonly formKey: string;
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly verdict: Exclude<SubmissionVerdict, "clean">;
  /** The content's spam score, whatever the verdict. */
  readonly score: number;
  readonly reasons: readonly string[];
  /** The start of each of the first values, by field name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A position in the list of held submissions. */
export interface HeldCursor {
  readonly score: number;
  readonly submissionId: string;
}

interface HeldFilter {
  /** `null` selects all tenants. */
  readonly tenantId: number | null;
  readonly verdict: HeldSubmission["verdict"];
  /** Selects submissions with this reason; `null` selects all. */
  readonly reason?: string | null;
}

interface HeldPage extends HeldFilter {
  readonly limit: number;
  /** Selects submissions after this position. */
  readonly after: HeldCursor | null;
}

// Lists show less of each submission.
const fieldsMax = 40;
const valueLengthMax = 800;

const heldWhere = (sql: postgres.Sql, { tenantId, verdict, reason = null }: HeldFilter) =>
  sql`is_unreviewed(s, ${verdict})
    ${tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`}
    ${reason === null ? sql`` : sql`and ${reason} = any (s.reasons)`}`;

/** Lists the unreviewed held submissions, lowest score first. */
export async function listHeld(
  pool: Pool,
  { limit, after, ...filter }: HeldPage,
): Promise<HeldSubmission[]> {
  return await query(pool, (sql) => {
    const isAfter = after === null
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
        ${isoTime(sql, sql`e.received_at`)} as "receivedAt"
      from (
        select s.* from submission as s
        where ${heldWhere(sql, filter)} ${isAfter}
        order by s.score, s.event_id limit ${limit}
      ) as s
      join event as e on e.event_id = s.event_id
      join tenant as t on t.id = s.tenant_id
      join form as f on f.id = s.form_id
      join api_key as k on k.id = e.key_id
      order by s.score, s.event_id`;
  });
}

/** `already`: released before; `clean`: never held; `erased`: the content was removed; `unknown`: no such submission. */
export type Release = "released" | "already" | "clean" | "erased" | "unknown";

export interface Decision {
  /** The console operator's name, `null` for ctl. */
  readonly operator: string | null;
  readonly labelFeatures: LabelFeatures;
}

/** Queues a held submission for delivery, labels it, and audits this. */
export async function releaseSubmission(
  pool: Pool,
  submissionId: string,
  { operator, labelFeatures }: Decision,
): Promise<Release> {
  const features = await readLabelFeatures(pool, submissionId, labelFeatures);
  return await runOperatorCall(
    pool,
    operator,
    "release_submission",
    (sql) => sql`${submissionId}, ${features}::int[]`,
  );
}

/** `already`: dismissed or released before. The other outcomes are as in {@linkcode Release}. */
type Dismissal = "dismissed" | Exclude<Release, "released">;

/** Dismisses a held submission, and labels and audits it like {@linkcode releaseSubmission}. */
export async function dismissSubmission(
  pool: Pool,
  submissionId: string,
  { operator, labelFeatures }: Decision,
): Promise<Dismissal> {
  const features = await readLabelFeatures(pool, submissionId, labelFeatures);
  return await runOperatorCall(
    pool,
    operator,
    "dismiss_submission",
    (sql) => sql`${submissionId}, ${features}::int[]`,
  );
}

/** `already`: the label is as requested; `held`: the submission is not released, so dismiss it instead. */
export type SpamMark = "marked" | "already" | "held" | "erased" | "unknown";

/** Labels a clean or released submission as spam, or removes that label; audits it like {@linkcode releaseSubmission}. */
export async function markSpam(
  pool: Pool,
  submissionId: string,
  { isSpam, operator, labelFeatures }: Decision & { readonly isSpam: boolean },
): Promise<SpamMark> {
  const features = await readLabelFeatures(pool, submissionId, labelFeatures);
  return await runOperatorCall(
    pool,
    operator,
    "mark_spam",
    (sql) => sql`${submissionId}, ${isSpam}, ${features}::int[]`,
  );
}

/** Removes all labels, which discards the learned corrections, and returns the number of labels. */
export async function forgetSpamLearning(pool: Pool): Promise<number> {
  const row = await queryOne(pool, (sql) => sql<{ count: number }[]>`select forget_spam_learning() as count`);
  return row?.count ?? 0;
}

/** Operators' corrections of the spam score in the last 30 days. */
export interface SpamCorrections {
  /** The number of held submissions that were released. */
  readonly released: number;
  /** The number of clean or released submissions that were labeled as spam. */
  readonly reported: number;
}

/** Counts the corrections for one tenant or, with `null`, for all tenants. */
export async function countCorrections(pool: Pool, tenantId: number | null): Promise<SpamCorrections> {
  const row = await queryOne(pool, (sql) =>
    sql<SpamCorrections[]>`
      select
        count(*) filter (where s.label = 'ham')::int as released,
        count(*) filter (where s.label = 'spam' and (s.verdict = 'clean' or s.released_at is not null))::int as reported
      from submission as s
      where s.label is not null and s.labelled_at > service_clock() - interval '30 days'
        ${tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`}`);
  return row ?? { released: 0, reported: 0 };
}

/** The unreviewed held submissions. */
export interface HeldCounts {
  readonly toReview: BoundedCount;
  /** Those whose hidden field was filled in, which are counted apart. */
  readonly honeypotHits: BoundedCount;
}

/** Counts the unreviewed held submissions of one tenant or, with `null`, of all, up to {@linkcode countedMax} each. */
export async function readHeldCounts(pool: Pool, tenantId: number | null): Promise<HeldCounts> {
  const [toReview, honeypotHits] = await Promise.all([
    countHeld(pool, { tenantId, verdict: "spam" }),
    countHeld(pool, { tenantId, verdict: "honeypot" }),
  ]);
  return { toReview, honeypotHits };
}

/** Counts the unreviewed held submissions with one verdict, up to {@linkcode countedMax}. */
export async function countHeld(pool: Pool, filter: HeldFilter): Promise<BoundedCount> {
  const row = await queryOne(pool, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int from (
        select from submission as s where ${heldWhere(sql, filter)} limit ${countedMax + 1}
      ) as s`);
  return boundedCount(row?.count ?? 0);
}
