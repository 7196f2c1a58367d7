/**
 * Submissions that are held, and their release.
 *
 * @module
 */

import type { SubmissionVerdict } from "../serving/accept.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";
import { type Bounded, bounded, countedMax } from "./bounded.ts";
import type { Pool } from "../pool.ts";

/** What a list shows of a held submission: no content. */
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
}

/** Which held submissions to list. */
interface HeldFilter {
  /** Of one tenant or, with `null`, of all. */
  readonly tenantId: number | null;
  readonly limit: number;
  /** Only those that are older than the submission with this id; `null` begins with the newest. */
  readonly before: string | null;
}

/** The held submissions, the newest first. Throws what {@linkcode Pool.run} throws. */
export async function listHeld(
  pool: Pool,
  { tenantId, limit, before }: HeldFilter,
): Promise<HeldSubmission[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`;
    const older = before === null ? sql`` : sql`and s.event_id < ${before} collate "C"`;
    return sql<HeldSubmission[]>`
      select
        s.event_id as "submissionId", t.slug as tenant, f.form_key as "formKey", k.label as source, s.verdict,
        s.score, s.reasons,
        to_char(e.received_at at time zone 'UTC', ${isoTime}) as "receivedAt"
      from (
        select s.* from submission as s
        join event as e on e.event_id = s.event_id and e.lead is not null
        where s.verdict <> 'clean' and s.released_at is null ${ofTenant} ${older}
        order by s.event_id desc limit ${limit}
      ) as s
      join event as e on e.event_id = s.event_id
      join tenant as t on t.id = s.tenant_id
      join form as f on f.id = s.form_id
      join api_key as k on k.id = e.key_id
      order by s.event_id desc`;
  });
  return rows.map((row) => ({ ...row }));
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
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const release = address === null
      ? sql`release_submission(${submissionId})`
      : sql`console_release_submission(${submissionId}, ${address})`;
    return sql<{ release: Release }[]>`select ${release} as release`;
  });
  return row?.release ?? "unknown";
}

/**
 * How many submissions are held, of one tenant or of all, counted up to a bound. One that was erased or has expired is
 * held no more; only the newest are looked at, because those of them that have expired are the oldest.
 */
export async function countHeld(pool: Pool, tenantId: number | null): Promise<Bounded> {
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`;
    return sql<{ count: number }[]>`
      select count(*)::int from (
        select s.event_id from submission as s
        where s.verdict <> 'clean' and s.released_at is null ${ofTenant}
        order by s.event_id desc limit ${countedMax + 1}
      ) as s
      where exists (select from event as e where e.event_id = s.event_id and e.removed_at is null offset 0)`;
  });
  return bounded(row?.count ?? 0);
}
