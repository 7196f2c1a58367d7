/** Reads the status of database and delivery for the metrics, which no process sees in its own work. */

import { statfs } from "node:fs/promises";
import type { Pool } from "../pool.ts";

/** `null`: unknown here, or not applicable. */
export interface StoreStatus {
  /** How long the delivery that is due longest has been due, in seconds. */
  readonly overdueS: number;
  /** Live tenants that have leads waiting and no route. */
  readonly unroutedTenants: number;
  /** Held submissions that are not judged, up to a bound. */
  readonly held: number;
  readonly connections: number;
  readonly connectionsMax: number;
  /** The database's clock minus this machine's. */
  readonly clockOffsetS: number;
  readonly sizeBytes: number;
  readonly standbys: number;
  /** Of the standby that is farthest behind. */
  readonly replayLagBytes: number | null;
  /** Seconds since 1970; 0: never; `null`: no archiving. */
  readonly archivedAtS: number | null;
  readonly archiveFailedAtS: number | null;
  /** Grows with every promotion. */
  readonly timeline: number | null;
  /** The file system of the database's folder, if it is on this machine. */
  readonly disk: { readonly sizeBytes: number; readonly availableBytes: number } | null;
  /** Sources that have gone silent; `null` before the first count. */
  readonly silentSources: number | null;
}

interface Row extends Omit<StoreStatus, "clockOffsetS" | "disk" | "silentSources" | "timeline"> {
  /** Hexadecimal. */
  readonly timeline: string | null;
  readonly nowMs: number;
  readonly folder: string | null;
}

// Alerts wait for minutes, and each run costs the database a few milliseconds.
const intervalMs = 15_000;
// A source counts as silent after a day at the earliest.
const silentEveryRuns = 8;
const deadlineMs = 10_000;
// No one needs a more exact number.
const heldMax = 10_000;

export class StatusReader {
  readonly #pool: Pool;
  readonly #countSilent: () => Promise<number>;
  #runs = 0;
  /** As last read; `null` before the first run and after a failed one. */
  current: StoreStatus | null = null;

  constructor(pool: Pool, countSilent: () => Promise<number>) {
    this.#pool = pool;
    this.#countSilent = countSilent;
  }

  /** The first run comes at once. */
  pauseMs(outcome: unknown): number {
    return this.#runs === 0 && outcome === null ? 0 : intervalMs;
  }

  /** Throws what {@linkcode Pool.run} throws, and then forgets the outdated status. */
  async runOnce(): Promise<void> {
    const before = this.current;
    this.current = null;
    const isSilentsTurn = this.#runs % silentEveryRuns === 0;
    this.#runs += 1;
    const startedAtMs = Date.now();
    const row = await this.#read();
    // Splits the round trip evenly.
    const clockOffsetS = (row.nowMs - (startedAtMs + Date.now()) / 2) / 1_000;
    const { nowMs: _, folder, timeline: digits, ...rest } = row;
    const timeline = digits === null ? null : Number.parseInt(digits, 16);
    const silentSources = isSilentsTurn ? await this.#countSilent() : before?.silentSources ?? null;
    this.current = { ...rest, timeline, clockOffsetS, disk: await diskOf(folder), silentSources };
  }

  async #read(): Promise<Row> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<Row[]>`
        select
          d.overdue_seconds as "overdueS", d.unrouted_tenants as "unroutedTenants",
          (
            select count(*)::int from (
              select from submission as s
              where s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null limit ${heldMax}
            ) as s
          ) as held,
          (select coalesce(sum(s.numbackends), 0)::int from pg_stat_database as s) as connections,
          current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            as "connectionsMax",
          pg_database_size(current_database())::float8 as "sizeBytes",
          (select count(*)::int from pg_stat_replication) as standbys,
          case when not pg_is_in_recovery() then
            (select max(pg_wal_lsn_diff(pg_current_wal_lsn(), r.replay_lsn)) from pg_stat_replication as r)::float8
          end as "replayLagBytes",
          case when not pg_is_in_recovery() then
            left(pg_walfile_name(pg_current_wal_lsn()), 8)
          end as timeline,
          case when current_setting('archive_mode') <> 'off' then
            coalesce(extract(epoch from a.last_archived_time), 0)::float8
          end as "archivedAtS",
          case when current_setting('archive_mode') <> 'off' then
            coalesce(extract(epoch from a.last_failed_time), 0)::float8
          end as "archiveFailedAtS",
          -- On another machine the folder says nothing about the disk here.
          case when pg_has_role('pg_read_all_settings', 'usage')
            and inet_server_addr() is not distinct from inet_client_addr()
          then current_setting('data_directory') end as folder,
          (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
        from delivery_status() as d, pg_stat_archiver as a`);
    return row as Row;
  }
}

/** `null` also when the runtime lacks the permission. */
async function diskOf(folder: string | null): Promise<StoreStatus["disk"]> {
  if (folder === null) return null;
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { sizeBytes: blocks * bsize, availableBytes: bavail * bsize };
  } catch {
    return null;
  }
}
