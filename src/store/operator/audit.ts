/**
 * The audit of operators' actions, as console and ctl show it. `append_audit` writes it in the transaction of the
 * action.
 */

import { hash } from "node:crypto";
import { ask, askOne, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** Rows of the audit with the same actor, action and time, as one entry. */
export interface AuditEntry {
  /** The id of its newest row, for the next page. */
  readonly id: string;
  readonly at: string;
  /** `ctl` or `console`, and the database role. */
  readonly actor: string;
  /** The actor's own, unverified identity: the client's address, or the account on the machine. */
  readonly claimed: string | null;
  readonly action: string;
  readonly subjects: readonly string[];
  readonly count: number;
  /** JSON text, the same in each row. */
  readonly detail: string | null;
}

// A replay of all is a thousand rows; bounds what a page reads.
const rowsMax = 20_000;

/** The newest entries, starting at row `fromId` if given; `subject` filters by event, submission or term. */
export async function listAudit(
  pool: Pool,
  { fromId = null, subject = null, limit }: {
    readonly fromId?: string | null;
    readonly subject?: string | null;
    readonly limit: number;
  },
): Promise<AuditEntry[]> {
  return await ask(pool, (sql) => {
    const from = fromId === null ? sql`true` : sql`a.id <= ${fromId}::bigint`;
    const of = subject === null ? sql`` : sql`and a.subject = ${subject}`;
    return sql<AuditEntry[]>`
      select
        max(a.id)::text as id, ${isoOf(sql, sql`a.at`)} as at, a.actor, a.claimed, a.action,
        (array_agg(a.subject order by a.id))[1:3] as subjects, count(*)::int as count, a.detail::text as detail
      from (select * from audit as a where ${from} ${of} order by a.id desc limit ${rowsMax}) as a
      group by a.at, a.actor, a.claimed, a.action, a.detail::text
      order by max(a.id) desc
      limit ${limit}`;
  });
}

/** A row of the audit as exported; `actor` and `claimed` as in {@linkcode AuditEntry}. */
export interface AuditRow {
  /** Its position in the chain. */
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

/** SHA-256 over the previous digest in hex and the row as a JSON array with `", "` between members. */
function auditDigest(before: string, row: Omit<AuditRow, "digest">): string {
  const { id, at, actor, claimed, action, subject, detail } = row;
  const members = [id, at, actor, claimed, action, subject, detail].map((member) => JSON.stringify(member));
  return hash("sha256", `${before}[${members.join(", ")}]`, "hex");
}

/** Why a row cannot follow a position in the chain, in a sentence; `null` when it can. */
export function chainFault({ id, digest }: AuditLink, row: AuditRow): string | null {
  if (row.id > id + 1) {
    return `row ${id + 1} is missing: ${
      id === 0 ? "the first one" : `row ${id} is followed by`
    } is ${row.id}`;
  }
  if (row.id <= id) return `row ${row.id} stands after row ${id}`;
  return auditDigest(digest, row) === row.digest
    ? null
    : `row ${row.id} was changed, or what stood before it: its digest is not that of its content`;
}

// Bounds the memory: a row takes some hundred bytes.
const pageRows = 1_000;

/** The end of the chain as the database records it. */
export async function readAuditHead(pool: Pool): Promise<AuditLink> {
  const row = await askOne(pool, (sql) =>
    sql<AuditLink[]>`
      select h.id::float8 as id, encode(h.digest, 'hex') as digest from audit_head as h`);
  return row ?? { id: 0, digest: "" };
}

/** The digest of a row; empty for 0, `null` when there is no such row. */
export async function readAuditDigest(pool: Pool, id: number): Promise<string | null> {
  if (id === 0) return "";
  const row = await askOne(pool, (sql) =>
    sql<{ digest: string }[]>`
      select encode(a.digest, 'hex') as digest from audit as a where a.id = ${id}`);
  return row?.digest ?? null;
}

/** The rows after one, up to another, in order, read page by page. */
export async function* readAuditRows(
  pool: Pool,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): AsyncGenerator<AuditRow> {
  for (let last = after; last < upTo;) {
    const rows = await ask(pool, (sql) =>
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
