/**
 * Raised limits of addresses, as the operator sets them.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import type { RaisedLimit } from "./api_keys.ts";
import { adminDeadlineMs } from "./admin_pool.ts";

/** A raised limit and the network that it is for, as CIDR text. */
interface ListedIpLimit {
  readonly network: string;
  readonly limit: RaisedLimit;
}

/**
 * Raises the limit of every address in a network, in place of what it had, notes it, and returns the network: the
 * bits of `cidr` to the right of the mask do not count.
 *
 * Chosen: the audit names the network, which is an integrator's server; who raised a limit for whom is what is asked.
 */
export async function limitNetwork(pool: Pool, cidr: string, limit: RaisedLimit): Promise<string> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ network: string }[]>`
      with raised as (
        insert into ip_limit (network, per_minute, burst, until)
        values (network(${cidr}::inet), ${limit.perMinute}, ${limit.burst}, ${limit.until}::timestamptz)
        on conflict (network) do update
          set per_minute = excluded.per_minute, burst = excluded.burst, until = excluded.until
        returning *
      )
      select
        r.network::text as network,
        note_audit(
          'ip.limit', r.network::text,
          json_build_object('per_minute', r.per_minute, 'burst', r.burst, 'until', r.until)
        )
      from raised as r`);
  return row?.network ?? cidr;
}

/** Ends a network's raised limit, notes it, and returns the network, or `null` when there was none. */
export async function clearNetwork(pool: Pool, cidr: string): Promise<string | null> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ network: string }[]>`
      with cleared as (delete from ip_limit where network = network(${cidr}::inet) returning network)
      select c.network::text as network, note_audit('ip.clear', c.network::text)
      from cleared as c`);
  return row?.network ?? null;
}

/** The raised limits that are in force, by network. */
export async function listIpLimits(pool: Pool): Promise<ListedIpLimit[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ network: string; per_minute: number; burst: number; until: Date }[]>`
      select network::text as network, per_minute, burst, until from ip_limit
      where until > service_clock() order by ip_limit.network`,
  );
  return rows.map((row) => ({
    network: row.network,
    limit: { perMinute: row.per_minute, burst: row.burst, until: row.until.toISOString() },
  }));
}
