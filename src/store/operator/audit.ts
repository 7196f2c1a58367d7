/** Reads the audit log of operators' actions. The SQL function append_audit adds a row in the action's transaction. */

import { hash } from "node:crypto";
import { isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

/** The audit rows of one action, which have the same time, actor, claimed identity, action and detail. */
export interface AuditEntry {
  /** The id of the newest row. */
  readonly id: string;
  readonly at: string;
  /** The origin (`ctl`, `console` or `digest`) and the database role. */
  readonly actor: string;
  /** The actor's unverified name: the account on the machine, or the console operator's; for a digest's link, the client's address. */
  readonly claimed: string | null;
  readonly action: string;
  /** The subjects of the first three rows. */
  readonly subjects: readonly string[];
  /** The number of rows. */
  readonly count: number;
  /** JSON text. */
  readonly detail: string | null;
}

// Bounds the rows that one list reads; a replay of all dead letters writes thousands.
const rowsMax = 20_000;

/**
 * Lists entries, newest first, starting at row `fromId` unless it is `null`; `subject` selects the entries about one
 * event, submission or term, `tenantId` those about a tenant, its keys, forms and campaigns.
 */
export async function listAudit(
  pool: Pool,
  { fromId = null, subject = null, tenantId = null, limit }: {
    readonly fromId?: string | null;
    readonly subject?: string | null;
    readonly tenantId?: number | null;
    readonly limit: number;
  },
): Promise<AuditEntry[]> {
  return await query(pool, (sql) => {
    const from = fromId === null ? sql`true` : sql`a.id <= ${fromId}::bigint`;
    const about = subject === null ? sql`` : sql`and a.subject = ${subject}`;
    const rows = tenantId === null ? sql`select * from audit as a where ${from} ${about}` : sql`
        select a.* from tenant as t
        cross join lateral (
          select t.slug as subject, 'tenant' as kind
          union all select t.slug || '/' || f.form_key, 'form' from form as f where f.tenant_id = t.id
          union all select k.id::text, 'key' from api_key as k where k.tenant_id = t.id
          union all select c.slug, 'campaign' from campaign as c where c.tenant_id = t.id
        ) as s
        -- Reads each subject's rows by the index.
        cross join lateral (
          select * from audit as a where a.subject = s.subject and ${from} ${about} order by a.id desc limit ${rowsMax}
        ) as a
        where t.id = ${tenantId} and split_part(a.action, '.', 1) = s.kind
          -- Other tenants may have campaigns with the same slug.
          and (s.kind <> 'campaign' or a.detail ->> 'tenant' = t.slug)`;
    return sql<AuditEntry[]>`
      select
        max(a.id)::text as id, ${isoTime(sql, sql`a.at`)} as at, a.actor, a.claimed, a.action,
        (array_agg(a.subject order by a.id))[1:3] as subjects, count(*)::int as count, a.detail::text as detail
      from (${rows} order by a.id desc limit ${rowsMax}) as a
      group by a.at, a.actor, a.claimed, a.action, a.detail::text
      order by max(a.id) desc
      limit ${limit}`;
  });
}

/** A row of the audit log as exported; `actor` and `claimed` as in {@linkcode AuditEntry}. */
export interface AuditRow {
  /** The row's position in the chain. */
  readonly id: number;
  /** ISO 8601, UTC, with microseconds. */
  readonly at: string;
  readonly actor: string;
  readonly claimed: string | null;
  readonly action: string;
  readonly subject: string;
  /** JSON text. */
  readonly detail: string | null;
  /** SHA-256, in hex. */
  readonly digest: string;
}

/** A position in the chain; `digest` is empty before the first row. */
export interface AuditLink {
  readonly id: number;
  readonly digest: string;
}

/**
 * Returns in hex the SHA-256 of the previous digest in hex followed by the row as a JSON array with `", "` as separator.
 */
function auditDigest(before: string, row: Omit<AuditRow, "digest">): string {
  const { id, at, actor, claimed, action, subject, detail } = row;
  const members = [id, at, actor, claimed, action, subject, detail].map((member) => JSON.stringify(member));
  return hash("sha256", `${before}[${members.join(", ")}]`, "hex");
}

/** Returns why a row cannot follow a position in the chain, or `null` if it can. */
export function chainFault({ id, digest }: AuditLink, row: AuditRow): string | null {
  if (row.id > id + 1) {
    const previous = id === 0 ? "the first row is" : `row ${id} is followed by`;
    return `row ${id + 1} is missing: ${previous} row ${row.id}`;
  }
  if (row.id <= id) return `row ${row.id} follows row ${id}`;
  return auditDigest(digest, row) === row.digest
    ? null
    : `row ${row.id} or an earlier one was changed: the digest of row ${row.id} does not match its content`;
}

// Bounds the memory; a row takes a few hundred bytes.
const pageRows = 1_000;

/** Reads the end of the chain according to `audit_head`. */
export async function readAuditHead(pool: Pool): Promise<AuditLink> {
  const row = await queryOne(pool, (sql) =>
    sql<AuditLink[]>`
      select h.id::float8 as id, encode(h.digest, 'hex') as digest from audit_head as h`);
  return row ?? { id: 0, digest: "" };
}

/** Reads a row's digest in hex; returns an empty text for row 0, and `null` if there is no such row. */
export async function readAuditDigest(pool: Pool, id: number): Promise<string | null> {
  if (id === 0) return "";
  const row = await queryOne(pool, (sql) =>
    sql<{ digest: string }[]>`
      select encode(a.digest, 'hex') as digest from audit as a where a.id = ${id}`);
  return row?.digest ?? null;
}

/** Reads the rows from `after` (exclusive) to `upTo` (inclusive) in order, page by page. */
export async function* readAuditRows(
  pool: Pool,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): AsyncGenerator<AuditRow> {
  for (let last = after; last < upTo;) {
    const rows = await query(pool, (sql) =>
      sql<AuditRow[]>`
        select
          a.id::float8 as id, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, a.actor,
          a.claimed, a.action, a.subject, a.detail::text as detail, encode(a.digest, 'hex') as digest
        from audit as a where a.id > ${last} and a.id <= ${upTo}
        order by a.id limit ${pageRows}`);
    if (rows.length === 0) return;
    yield* rows;
    last = rows.at(-1)?.id ?? upTo;
  }
}
