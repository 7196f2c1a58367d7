/**
 * What operators did, as the console and the command show it. `append_audit` writes it, in the transaction that does it.
 *
 * @module
 */

import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";
import type { Pool } from "../pool.ts";

/** What was done in one go: one row of the audit, or several of one actor, action and time. */
export interface AuditEntry {
  /** The number of its newest row, by which the list goes on. */
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** `ctl` or `console`, and the role that had logged in. */
  readonly actor: string;
  /** What the actor said of himself, unchecked: the client's address, the account of the machine. */
  readonly claimed: string | null;
  readonly action: string;
  /** The first few. */
  readonly subjects: readonly string[];
  readonly count: number;
  /** JSON text of the newest row, or `null`. */
  readonly detail: string | null;
}

// A replay of all in one go is a thousand rows: bounds what a page reads for its entries.
const rowsMax = 20_000;

/** What was done, the newest first: at most `limit` entries, from the row `fromId` on or, with `null`, from the newest. */
export async function listAudit(
  pool: Pool,
  page: { readonly fromId: string | null; readonly limit: number },
): Promise<AuditEntry[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) => {
    const from = page.fromId === null ? sql`` : sql`where a.id <= ${page.fromId}::bigint`;
    return sql<AuditEntry[]>`
      select
        max(a.id)::text as id, to_char(a.at at time zone 'UTC', ${isoTime}) as at, a.actor, a.claimed, a.action,
        (array_agg(a.subject order by a.id))[1:3] as subjects, count(*)::int as count,
        (array_agg(a.detail::text order by a.id desc))[1] as detail
      from (select * from audit as a ${from} order by a.id desc limit ${rowsMax}) as a
      group by a.at, a.actor, a.claimed, a.action
      order by max(a.id) desc
      limit ${page.limit}`;
  });
  return rows.map((row) => ({ ...row }));
}

/** What was done to one event, submission or term; the newest first, at most `limit`. */
export async function listAuditOf(
  pool: Pool,
  { subject, limit }: { readonly subject: string; readonly limit: number },
): Promise<AuditEntry[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<AuditEntry[]>`
      select
        a.id::text as id, to_char(a.at at time zone 'UTC', ${isoTime}) as at, a.actor, a.claimed, a.action,
        array[a.subject] as subjects, 1 as count, a.detail::text as detail
      from audit as a where a.subject = ${subject}
      order by a.id desc
      limit ${limit}`);
  return rows.map((row) => ({ ...row }));
}
