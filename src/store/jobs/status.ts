/** Reads the status of the database and of delivery for the metrics. */

import { statfs } from "node:fs/promises";
import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";
import type { PauseScope } from "../operator/pauses.ts";
import type { SuspensionReason } from "../operator/route_states.ts";

/** The status; a value is `null` if it is unknown or not applicable. */
export interface StoreStatus {
  /** How long the first due delivery has been overdue, in seconds; 0 if none is overdue. */
  readonly overdueS: number;
  /** The number of live tenants with pending events and no route. */
  readonly unroutedTenants: number;
  /** Why each suspended CRM route is suspended, and how many events wait for it; at most 10,000 for all routes together. */
  readonly suspendedRoutes: readonly { readonly reason: SuspensionReason; readonly waiting: number }[];
  /** What operators have paused, and how many events wait because of it; at most 10,000 for all pauses together. */
  readonly pauses: readonly { readonly scope: PauseScope; readonly waiting: number }[];
  /** The number of held submissions to review (`is_unreviewed`), honeypot hits apart; at most 10,000. */
  readonly held: number;
  /** The cost of all leads with a campaign, and the part of it that was credited for returned ones. */
  readonly spendCents: number;
  readonly creditCents: number;
  readonly connections: number;
  readonly connectionsMax: number;
  /** The database's clock minus this machine's, in seconds. */
  readonly clockOffsetS: number;
  readonly sizeBytes: number;
  readonly standbys: number;
  /** The lag of the standby that is farthest behind. */
  readonly replayLagBytes: number | null;
  /** Seconds since 1970; 0 if never, `null` if archiving is off. */
  readonly archivedAtS: number | null;
  readonly archiveFailedAtS: number | null;
  /** The timeline's number, which every promotion increases. */
  readonly timeline: number | null;
  /** The file system of the data directory, if it is on this machine and may be read. */
  readonly disk: { readonly sizeBytes: number; readonly availableBytes: number } | null;
  /** The number of silent sources; `null` before the first count. */
  readonly silentSources: number | null;
}

interface Row extends Omit<StoreStatus, "clockOffsetS" | "disk" | "silentSources" | "timeline"> {
  /** The timeline in hexadecimal digits. */
  readonly timeline: string | null;
  readonly nowMs: number;
  readonly folder: string | null;
}

// Alerts fire after minutes at the earliest. Each run takes the database a few milliseconds, or a tenth of a second while ten
// thousand events wait for a suspended CRM route.
const intervalMs = 15_000;
// A source counts as silent after a day at the earliest.
const silentEveryRuns = 8;
const heldMax = 10_000;
const waitingMax = 10_000;

export class StatusReader {
  readonly #pool: Pool;
  readonly #countSilent: () => Promise<number>;
  #runs = 0;
  /** The status as last read; `null` before the first run, during a run, and after a failed one. */
  current: StoreStatus | null = null;

  constructor(pool: Pool, countSilent: () => Promise<number>) {
    this.#pool = pool;
    this.#countSilent = countSilent;
  }

  /** Returns the pause before the next run: 0 before the first. */
  pauseMs(outcome: unknown): number {
    return this.#runs === 0 && outcome === null ? 0 : intervalMs;
  }

  /** Reads the status. If this throws what {@linkcode Pool.run} throws, `current` is `null`. */
  async runOnce(): Promise<void> {
    const previous = this.current;
    this.current = null;
    const countsSilent = this.#runs % silentEveryRuns === 0;
    this.#runs += 1;
    const startedAtMs = Date.now();
    const row = await this.#read();
    // Assumes that the request and the response take equally long.
    const clockOffsetS = (row.nowMs - (startedAtMs + Date.now()) / 2) / 1_000;
    const { nowMs: _, folder, timeline: digits, ...rest } = row;
    const timeline = digits === null ? null : Number.parseInt(digits, 16);
    const silentSources = countsSilent ? await this.#countSilent() : previous?.silentSources ?? null;
    this.current = { ...rest, timeline, clockOffsetS, disk: await diskOf(folder), silentSources };
  }

  async #read(): Promise<Row> {
    const row = await queryOne(this.#pool, (sql) =>
      sql<Row[]>`
        select
          d.overdue_seconds as "overdueS", d.unrouted_tenants as "unroutedTenants",
          (
            select coalesce(json_agg(json_build_object('reason', r.reason, 'waiting', r.waiting)), '[]')
            from route_states(null, ${waitingMax}) as r where r.reason is not null
          ) as "suspendedRoutes",
          (
            select coalesce(
              json_agg(json_build_object('scope', coalesce(nullif(p.kind, ''), 'all'), 'waiting', p.waiting)), '[]'
            )
            from pauses(null, ${waitingMax}) as p
          ) as pauses,
          (
            select count(*)::int from (
              select from submission as s where is_unreviewed(s, 'spam') limit ${heldMax}
            ) as s
          ) as held,
          s.spend_cents as "spendCents", s.credit_cents as "creditCents",
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
          -- Null unless the server is on this machine.
          case when pg_has_role('pg_read_all_settings', 'usage')
            and inet_server_addr() is not distinct from inet_client_addr()
          then current_setting('data_directory') end as folder,
          (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
        from delivery_status() as d, pg_stat_archiver as a, (
          select coalesce(sum(s.spend_cents), 0)::float8 as spend_cents, coalesce(sum(s.credit_cents), 0)::float8 as credit_cents
          from campaign_spend as s
        ) as s`);
    return row as Row;
  }
}

/** Reads the size of a folder's file system; returns `null` if Deno or the system denies access. */
async function diskOf(folder: string | null): Promise<StoreStatus["disk"]> {
  if (folder === null) return null;
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { sizeBytes: blocks * bsize, availableBytes: bavail * bsize };
  } catch {
    return null;
  }
}
