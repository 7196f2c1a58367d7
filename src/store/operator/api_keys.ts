import type postgres from "postgres";
import type { KeySurface } from "../../contract/api_key.ts";
import { members } from "../../lead/json.ts";
import { isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

/** A temporarily raised limit. `until` is ISO 8601, UTC. */
export interface RaisedLimit {
  readonly perMinute: number;
  readonly burst: number;
  readonly until: string;
}

/** A stored key without its digest. Times are ISO 8601, UTC. */
export interface ListedKey {
  readonly id: string;
  readonly tenant: string;
  /** Whether the tenant is a sandbox. */
  readonly sandbox: boolean;
  readonly label: string;
  readonly surface: KeySurface;
  readonly last4: string;
  readonly campaign: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
  /** When the key's tenant was disabled; `null` if the tenant is enabled or the key is revoked. */
  readonly suspendedAt: string | null;
  /** The raised limit that applies now; `null` if the published limit applies. */
  readonly limit: RaisedLimit | null;
  /** Whether the key was ever sent in a URL, which logs may contain. */
  readonly isExposed: boolean;
}

/**
 * Stores and audits a key and returns its id, or `null` if the tenant is disabled. Locks the tenant's row, so that a
 * concurrent `disable_tenant` does not miss the key.
 */
export async function insertKey(
  pool: Pool,
  key: {
    readonly tenantId: number;
    readonly campaignId: number | null;
    readonly surface: KeySurface;
    readonly label: string;
    /** The SHA-256 of the key's text, in hex. */
    readonly digest: string;
    readonly last4: string;
  },
): Promise<string | null> {
  const row = await queryOne(pool, (sql) =>
    sql<{ id: number }[]>`
      with enabled as (
        select t.id from tenant as t where t.id = ${key.tenantId} and t.disabled_at is null for share
      ),
      issued as (
        insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
        select
          t.id, ${key.campaignId}::int, ${key.surface}, ${key.label}, decode(${key.digest}, 'hex'), ${key.last4}
        from enabled as t
        returning id, tenant_id, surface, label
      )
      select c.id, ${auditCall(sql, "key.issue")} from issued as c`);
  return row === null ? null : String(row.id);
}

/** Returns a call that audits an action on row `c`, a key. */
function auditCall(sql: postgres.Sql, action: string) {
  return sql`note_audit(
    ${action}, c.id::text,
    json_build_object(
      'tenant', (select t.slug from tenant as t where t.id = c.tenant_id), 'surface', c.surface, 'label', c.label
    )
  )`;
}

/** Lists the keys of one tenant or, with `null`, of all tenants, oldest first. */
export async function listKeys(pool: Pool, tenantId: number | null): Promise<ListedKey[]> {
  return await query(pool, (sql) =>
    sql<ListedKey[]>`
      select
        k.id::text as id, t.slug as tenant, t.sandbox, k.label, k.surface, k.last4, c.slug as campaign,
        ${isoTime(sql, sql`k.created_at`)} as "createdAt", ${
      isoTime(sql, sql`k.last_used_at`)
    } as "lastUsedAt",
        ${isoTime(sql, sql`k.revoked_at`)} as "revokedAt",
        case when k.revoked_at is null then ${isoTime(sql, sql`k.suspended_at`)} end as "suspendedAt",
        case when k.limit_until > service_clock() then json_build_object(
          'perMinute', k.limit_per_minute, 'burst', k.limit_burst, 'until', ${
      isoTime(sql, sql`k.limit_until`)
    }
        ) end as limit,
        exists (select from refusal_total as r where r.key_id = k.id and r.reason = 'key_in_url') as "isExposed"
      from api_key as k
      join tenant as t on t.id = k.tenant_id
      left join campaign as c on c.id = k.campaign_id
      ${tenantId === null ? sql`` : sql`where k.tenant_id = ${tenantId}`}
      order by k.id`);
}

/** A field that leads contained but the envelope does not define. */
export interface UnknownField {
  readonly name: string;
  /** How many of the examined leads have the field. */
  readonly leads: number;
}

const examinedMax = 2_000;
/** The maximum number of characters read, so that reading them does not delay the process's posts. */
const examinedLengthMax = 1_000_000;
const unknownMax = 100;
const unknownLengthMax = 100;

/**
 * Reads the most common names under `extra` in a key's newest leads: at most 2,000 and a million characters, from the last 30
 * days. PostgreSQL's JSON functions are not used, because they fail on the `\u0000` that `extra` may contain.
 */
export async function readUnknownFields(pool: Pool, id: string): Promise<UnknownField[]> {
  const rows = await query(pool, (sql) =>
    sql<{ extra: string }[]>`
      select n.extra from (
        select e.event_id, e.extra, sum(length(e.extra)) over (order by e.event_id desc) as length
        from (
          select e.event_id, e.extra from event as e
          where e.key_id = ${id}::bigint and e.kind = 'lead' and e.extra is not null
            and e.event_id >= event_id_at(service_clock() - interval '30 days')
          order by e.event_id desc limit ${examinedMax}
        ) as e
      ) as n
      where n.length <= ${examinedLengthMax}
      order by n.event_id desc`);
  const leads = new Map<string, number>();
  for (const { extra } of rows) {
    // A surrogate pair that is cut becomes U+FFFD.
    const names = members(extra).map(({ name }) => name.slice(0, unknownLengthMax).toWellFormed());
    for (const name of new Set(names)) {
      leads.set(name, (leads.get(name) ?? 0) + 1);
    }
  }
  return [...leads].map(([name, leads]) => ({ name, leads }))
    .sort((a, b) => b.leads - a.leads || (a.name < b.name ? -1 : 1))
    .slice(0, unknownMax);
}

interface Revocation {
  readonly tenant: string;
  readonly label: string;
  /** ISO 8601, UTC. */
  readonly revokedAt: string;
  /** Whether the key had been revoked earlier. */
  readonly wasRevoked: boolean;
}

/** Revokes and audits a key; returns `null` if there is none. Afterwards, no event posted with the key can commit. */
export async function revokeKey(pool: Pool, id: string): Promise<Revocation | null> {
  const revoked = await query(pool, (sql) =>
    sql`
      with revoked as (
        update api_key set revoked_at = service_clock()
        where id = ${id}::bigint and revoked_at is null
        returning id, tenant_id, surface, label
      )
      select c.id, ${auditCall(sql, "key.revoke")} from revoked as c`);
  const row = await queryOne(pool, (sql) =>
    sql<{ tenant: string; label: string; revoked_at: Date }[]>`
      select t.slug as tenant, k.label, k.revoked_at
      from api_key as k join tenant as t on t.id = k.tenant_id
      where k.id = ${id}::bigint`);
  if (row === null) return null;
  return {
    tenant: row.tenant,
    label: row.label,
    revokedAt: row.revoked_at.toISOString(),
    wasRevoked: revoked.length === 0,
  };
}

/** Raises a key's limit until a time or, with `null`, restores the published limit; audits the change. */
export async function limitKey(
  pool: Pool,
  id: string,
  limit: RaisedLimit | null,
): Promise<"done" | "revoked" | "not_found"> {
  const updated = await query(pool, (sql) =>
    sql`
      with changed as (
        update api_key set
          limit_per_minute = ${limit?.perMinute ?? null}, limit_burst = ${limit?.burst ?? null},
          limit_until = ${limit?.until ?? null}::timestamptz
        where id = ${id}::bigint and revoked_at is null
        returning id, tenant_id, surface, label
      )
      select c.id, ${auditCall(sql, "key.limit")} from changed as c`);
  if (updated.length > 0) return "done";
  const found = await query(pool, (sql) => sql`select 1 from api_key where id = ${id}::bigint`);
  return found.length > 0 ? "revoked" : "not_found";
}

interface ListedIpLimit {
  /** CIDR notation. */
  readonly network: string;
  readonly limit: RaisedLimit;
}

/**
 * Raises the limit for every address in a network, audits the change, and returns the network without host bits.
 *
 * Chosen: the audit contains the network, because an auditor needs to know for which clients a limit was raised.
 */
export async function limitNetwork(pool: Pool, cidr: string, limit: RaisedLimit): Promise<string> {
  const row = await queryOne(pool, (sql) =>
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

/** Removes a network's raised limit, audits the removal, and returns the network, or `null` if it had no raised limit. */
export async function clearNetwork(pool: Pool, cidr: string): Promise<string | null> {
  const row = await queryOne(pool, (sql) =>
    sql<{ network: string }[]>`
      with cleared as (delete from ip_limit where network = network(${cidr}::inet) returning network)
      select c.network::text as network, note_audit('ip.clear', c.network::text)
      from cleared as c`);
  return row?.network ?? null;
}

export async function listIpLimits(pool: Pool): Promise<ListedIpLimit[]> {
  return await query(pool, (sql) =>
    sql<ListedIpLimit[]>`
      select network::text as network, json_build_object(
        'perMinute', per_minute, 'burst', burst, 'until', ${isoTime(sql, sql`until`)}
      ) as limit
      from ip_limit where until > service_clock() order by ip_limit.network`);
}
