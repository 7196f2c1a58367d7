/** Reads facts about a PostgreSQL server and the current role for `ctl doctor`, from a migrated or unmigrated database. */

import type { Pool } from "../pool.ts";

export interface ServerFacts {
  readonly role: string;
  /** Whether the role has the rights of the tables' owner, as a superuser does. */
  readonly isOwner: boolean;
  readonly isSuperuser: boolean;
  /** The groups `lead_service` and `lead_actions`, as far as the role has their rights, as a superuser does. */
  readonly groups: readonly string[];
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  readonly dataChecksums: string;
  readonly isStandby: boolean;
  readonly readOnlyDefault: string;
  readonly standbyNames: string;
  readonly standbys: number;
  readonly connectionsMax: number;
  readonly connections: number;
  /** `null` if the role may not read it. */
  readonly dataDirectory: string | null;
  readonly archiveMode: string;
  /** ISO 8601; `null` if nothing was archived. */
  readonly lastArchivedAt: string | null;
  readonly lastFailedAt: string | null;
}

const deadlineMs = 6_000;

export async function readServerFacts(pool: Pool): Promise<ServerFacts> {
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<ServerFacts[]>`
      select
        current_user::text as role,
        coalesce(
          (select pg_has_role(c.relowner, 'usage') from pg_class as c where c.oid = to_regclass('public.event')), false
        ) as "isOwner",
        (select r.rolsuper from pg_roles as r where r.rolname = current_user) as "isSuperuser",
        array(
          select r.rolname::text from pg_roles as r
          where r.rolname in ('lead_service', 'lead_actions') and pg_has_role(r.oid, 'usage')
        ) as groups,
        current_setting('server_version_num')::int as version,
        current_setting('server_encoding') as encoding,
        current_setting('fsync') as fsync,
        current_setting('full_page_writes') as "fullPageWrites",
        current_setting('synchronous_commit') as "synchronousCommit",
        current_setting('data_checksums') as "dataChecksums",
        pg_is_in_recovery() as "isStandby",
        current_setting('default_transaction_read_only') as "readOnlyDefault",
        current_setting('synchronous_standby_names') as "standbyNames",
        (select count(*)::int from pg_stat_replication) as standbys,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          as "connectionsMax",
        (select coalesce(sum(d.numbackends), 0)::int from pg_stat_database as d) as connections,
        case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end
          as "dataDirectory",
        current_setting('archive_mode') as "archiveMode",
        (select to_char(a.last_archived_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') from pg_stat_archiver as a)
          as "lastArchivedAt",
        (select to_char(a.last_failed_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') from pg_stat_archiver as a)
          as "lastFailedAt"`);
  if (row === undefined) throw new Error("The server returned no row");
  return row;
}

/** Compares the database's clock with this machine's, and with the newest event. */
export async function readClocks(
  pool: Pool,
): Promise<{
  /** The database's clock minus this machine's. */
  readonly offsetMs: number;
  /** How far the newest event's acceptance is ahead of the database's clock; negative if it is not. */
  readonly aheadMs: number;
}> {
  const startedAtMs = Date.now();
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<{ nowMs: number; aheadMs: number | null }[]>`
      select c.now_ms as "nowMs", extract(epoch from event_id_time(e.id))::float8 * 1000 - c.now_ms as "aheadMs"
      from (select extract(epoch from service_clock())::float8 * 1000 as now_ms offset 0) as c,
        (select max(event_id) as id from event) as e`);
  if (row === undefined) throw new Error("The server returned no row");
  // Assumes that the request and the response take equally long.
  return { offsetMs: row.nowMs - (startedAtMs + Date.now()) / 2, aheadMs: row.aheadMs ?? -Infinity };
}
