/**
 * Reads and changes the vocabulary of `project_area`. Terms are compared with {@linkcode foldArea}, as in the validator,
 * because the database's `lower()` may convert only ASCII, depending on the locale.
 */

import type postgres from "postgres";
import { foldArea } from "../../lead/place.ts";
import { isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { indexNewest } from "../jobs/search_indexer.ts";
import { query, queryOne } from "../query.ts";

/** A term's status. A retired term is not published, and the validator treats it as unknown. */
export type AreaStatus = "confirmed" | "proposed" | "retired";

export interface Term {
  readonly area: string;
  readonly status: AreaStatus;
}

/**
 * A term that callers sent but the vocabulary lacks. Times are ISO 8601, UTC. Of each key, the first 1,000 new terms of a day are
 * kept; `null` stands for the others.
 */
interface UnknownArea {
  readonly tenant: string;
  readonly term: string | null;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** Lists all terms, including retired ones, in alphabetical order. */
export async function listAreas(pool: Pool): Promise<Term[]> {
  const rows = await query(pool, (sql) =>
    sql<Term[]>`
    select area, status from area order by lower(area), area`);
  return rows.map(({ area, status }) => ({ area, status }));
}

/** Lists the terms that are not retired. */
export async function listAreasInForce(
  pool: Pool,
): Promise<(Term & { readonly status: Exclude<AreaStatus, "retired"> })[]> {
  return (await listAreas(pool)).flatMap(({ area, status }) =>
    status === "retired" ? [] : [{ area, status }]
  );
}

/** Finds the term that the validator would match with this text, whatever the term's status. */
export async function findArea(pool: Pool, text: string): Promise<Term | null> {
  const folded = foldArea(text);
  const areas = await listAreas(pool);
  return areas.find(({ area }) => foldArea(area) === folded) ?? null;
}

/** Adds a term and audits it; returns `false` if the term exists. */
export async function addArea(pool: Pool, { area, status }: Term): Promise<boolean> {
  const rows = await query(pool, (sql) =>
    sql`
      with added as (
        insert into area (area, status) values (${area}, ${status}) on conflict do nothing returning area, status
      )
      ${auditStatus(sql)} from added as c`);
  return rows.length === 1;
}

/** Changes a term's status and spelling, and audits the change; returns `false` if the term was changed concurrently. */
export async function changeArea(
  pool: Pool,
  from: Term,
  to: { readonly status: AreaStatus; readonly spelling?: string },
): Promise<boolean> {
  const rows = await query(pool, (sql) =>
    sql`
      with changed as (
        update area set area = ${to.spelling ?? from.area}, status = ${to.status}
        where area = ${from.area} and status = ${from.status}
        returning area, status
      )
      ${auditStatus(sql, from.status)} from changed as c`);
  return rows.length === 1;
}

/** Returns a query that audits the new status of row `c`, a term. */
function auditStatus(sql: postgres.Sql, before: AreaStatus | null = null) {
  return sql`
    select note_audit(
      case c.status when 'confirmed' then 'area.confirm' when 'proposed' then 'area.propose' else 'area.retire' end,
      c.area, json_build_object('before', ${before}::text)
    )`;
}

// Callers can send any number of different terms; those beyond this rank are noise.
const unknownReadMax = 10_000;

/** Lists the terms that callers sent to one tenant or, with `null`, to any and that the vocabulary lacks, by frequency. */
export async function listUnknownAreas(
  pool: Pool,
  filter: { readonly tenantId: number | null; readonly limit: number },
): Promise<UnknownArea[]> {
  await indexNewest(pool);
  const known = new Set(
    (await listAreas(pool)).filter(({ status }) => status !== "retired").map(({ area }) => foldArea(area)),
  );
  const rows = await query(pool, (sql) =>
    sql<UnknownArea[]>`
      select t.slug as tenant, nullif(u.term, '') as term, u.count::float8 as count, ${
      isoTime(sql, sql`u.first_at`)
    } as "firstAt",
        ${isoTime(sql, sql`u.last_at`)} as "lastAt"
      from unknown_area as u join tenant as t on t.id = u.tenant_id
      where ${filter.tenantId}::int is null or u.tenant_id = ${filter.tenantId}
      order by u.count desc, u.last_at desc, u.term
      limit ${unknownReadMax}`);
  return rows.filter(({ term }) => term === null || !known.has(foldArea(term))).slice(0, filter.limit);
}

type AreaOutcome = "done" | "unchanged" | "changed_meanwhile" | "not_found";

/** Adds a term that callers sent, or confirms or restores an existing one; audits it with the console operator's name. */
export async function confirmAreaAs(
  pool: Pool,
  operator: string,
  to: { readonly area: string; readonly status: "confirmed" | "proposed" },
): Promise<AreaOutcome> {
  const known = await findArea(pool, to.area);
  const row = await queryOne(pool, (sql) =>
    sql<{ outcome: AreaOutcome }[]>`
      select console_confirm_area(${to.area}, ${to.status}, ${known?.area ?? null}, ${operator}) as outcome`);
  return row?.outcome ?? "not_found";
}

/** Unknown terms with the same spelling under {@linkcode foldArea}. */
export interface UnknownTerm {
  /** The most frequent spelling; `null` as in {@linkcode UnknownArea}. */
  readonly term: string | null;
  readonly count: number;
  readonly lastAt: string;
  readonly tenants: readonly { readonly tenant: string; readonly count: number }[];
}

/** Groups unknown terms by their spelling under {@linkcode foldArea}, most frequent first. */
export function groupTerms(unknownAreas: readonly UnknownArea[]): UnknownTerm[] {
  const groups = Map.groupBy(unknownAreas, ({ term }) => term === null ? null : foldArea(term));
  return [...groups].map(([folded, group]) => {
    const spellings = sumByName(group.map(({ term, count }) => [term ?? "", count] as const));
    const tenants = sumByName(group.map(({ tenant, count }) => [tenant, count] as const));
    return {
      term: folded === null ? null : spellings[0]?.[0] ?? "",
      count: group.reduce((sum, { count }) => sum + count, 0),
      lastAt: group.map(({ lastAt }) => lastAt).sort().at(-1) ?? "",
      tenants: tenants.map(([tenant, count]) => ({ tenant, count })),
    };
  }).sort((a, b) => b.count - a.count || ((a.term ?? "") < (b.term ?? "") ? -1 : 1));
}

function sumByName(pairs: readonly (readonly [string, number])[]): [string, number][] {
  const totals = new Map<string, number>();
  for (const [name, count] of pairs) totals.set(name, (totals.get(name) ?? 0) + count);
  return [...totals].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
