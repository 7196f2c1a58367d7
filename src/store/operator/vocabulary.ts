/**
 * The vocabulary of `project_area`. Terms are compared by {@linkcode foldArea}, as the validator does, because
 * `lower()` in the database's locale may know only ASCII.
 */

import type postgres from "postgres";
import { foldArea } from "../../lead/place.ts";
import { ask, askOne, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** A retired term is kept, but not listed, and unknown to the validator. */
export type AreaStatus = "confirmed" | "proposed" | "retired";

export interface Term {
  readonly area: string;
  readonly status: AreaStatus;
}

/** A term that callers sent and the vocabulary lacks. Times are ISO 8601, UTC. */
interface UnknownArea {
  readonly tenant: string;
  readonly term: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** All terms in alphabetical order, retired ones too. */
export async function listAreas(pool: Pool): Promise<Term[]> {
  const rows = await ask(pool, (sql) =>
    sql<Term[]>`
    select area, status from area order by lower(area), area`);
  return rows.map(({ area, status }) => ({ area, status }));
}

/** The terms that are not retired. */
export async function listAreasInForce(
  pool: Pool,
): Promise<(Term & { readonly status: Exclude<AreaStatus, "retired"> })[]> {
  return (await listAreas(pool)).flatMap(({ area, status }) =>
    status === "retired" ? [] : [{ area, status }]
  );
}

/** The term that the validator matches with this text, whatever its status, or `null`. */
export async function findArea(pool: Pool, text: string): Promise<Term | null> {
  const folded = foldArea(text);
  const areas = await listAreas(pool);
  return areas.find(({ area }) => foldArea(area) === folded) ?? null;
}

/** Adds a term and audits it; `false` when another was added first. */
export async function addArea(pool: Pool, { area, status }: Term): Promise<boolean> {
  const rows = await ask(pool, (sql) =>
    sql`
      with added as (
        insert into area (area, status) values (${area}, ${status}) on conflict do nothing returning area, status
      )
      ${noted(sql)} from added as c`);
  return rows.length === 1;
}

/** Changes a term's status and spelling, and audits it; `false` when it has changed meanwhile. */
export async function changeArea(
  pool: Pool,
  from: Term,
  to: { readonly status: AreaStatus; readonly spelling?: string },
): Promise<boolean> {
  const rows = await ask(pool, (sql) =>
    sql`
      with changed as (
        update area set area = ${to.spelling ?? from.area}, status = ${to.status}
        where area = ${from.area} and status = ${from.status}
        returning area, status
      )
      ${noted(sql, from.status)} from changed as c`);
  return rows.length === 1;
}

/** Audits the new status of term `c` of a statement. */
function noted(sql: postgres.Sql, before: AreaStatus | null = null) {
  return sql`
    select note_audit(
      case c.status when 'confirmed' then 'area.confirm' when 'proposed' then 'area.propose' else 'area.retire' end,
      c.area, json_build_object('before', ${before}::text)
    )`;
}

// Callers can send any number of terms; those below this rank are noise.
const unknownReadMax = 10_000;

/** The terms of one tenant or of all that the vocabulary still lacks, most frequent first. */
export async function listUnknownAreas(
  pool: Pool,
  filter: { readonly tenantId: number | null; readonly limit: number },
): Promise<UnknownArea[]> {
  const known = new Set(
    (await listAreas(pool)).filter(({ status }) => status !== "retired").map(({ area }) => foldArea(area)),
  );
  const rows = await ask(pool, (sql) =>
    sql<UnknownArea[]>`
      select t.slug as tenant, u.term, u.count::float8 as count, ${isoOf(sql, sql`u.first_at`)} as "firstAt",
        ${isoOf(sql, sql`u.last_at`)} as "lastAt"
      from unknown_area as u join tenant as t on t.id = u.tenant_id
      where ${filter.tenantId}::int is null or u.tenant_id = ${filter.tenantId}
      order by u.count desc, u.last_at desc, u.term
      limit ${unknownReadMax}`);
  return rows.filter(({ term }) => !known.has(foldArea(term))).slice(0, filter.limit);
}

type AreaOutcome = "done" | "unchanged" | "changed_meanwhile" | "not_found";

/** Adds a callers' term, or confirms a proposed one, and audits it with the console's client address. */
export async function confirmAreaAs(
  pool: Pool,
  address: string,
  to: { readonly area: string; readonly status: "confirmed" | "proposed" },
): Promise<AreaOutcome> {
  const known = await findArea(pool, to.area);
  const row = await askOne(pool, (sql) =>
    sql<{ outcome: AreaOutcome }[]>`
      select console_confirm_area(${to.area}, ${to.status}, ${known?.area ?? null}, ${address}) as outcome`);
  return row?.outcome ?? "not_found";
}

/** Unknown terms that fold alike, as one. */
export interface UnknownTerm {
  /** The most frequent spelling. */
  readonly term: string;
  readonly count: number;
  readonly lastAt: string;
  readonly tenants: readonly { readonly tenant: string; readonly count: number }[];
}

/** Groups unknown terms by tenant and spelling, most frequent first. */
export function groupTerms(seen: readonly UnknownArea[]): UnknownTerm[] {
  const groups = Map.groupBy(seen, ({ term }) => foldArea(term));
  return [...groups.values()].map((group) => {
    const spellings = sums(group.map(({ term, count }) => [term, count] as const));
    const tenants = sums(group.map(({ tenant, count }) => [tenant, count] as const));
    return {
      term: spellings[0]?.[0] ?? "",
      count: group.reduce((sum, { count }) => sum + count, 0),
      lastAt: group.map(({ lastAt }) => lastAt).sort().at(-1) ?? "",
      tenants: tenants.map(([tenant, count]) => ({ tenant, count })),
    };
  }).sort((a, b) => b.count - a.count || (a.term < b.term ? -1 : 1));
}

function sums(pairs: readonly (readonly [string, number])[]): [string, number][] {
  const found = new Map<string, number>();
  for (const [name, count] of pairs) found.set(name, (found.get(name) ?? 0) + count);
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
