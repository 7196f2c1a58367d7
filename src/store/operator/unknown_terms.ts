/**
 * The terms that callers use and the vocabulary does not know, as the console shows them and takes them in.
 *
 * @module
 */

import { foldArea } from "../../lead/place.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { findArea, type UnknownArea } from "./vocabulary.ts";
import type { Pool } from "../pool.ts";

/** What became of a term that was to come into the vocabulary. */
type AreaOutcome = "done" | "unchanged" | "changed_meanwhile" | "not_found";

/**
 * Takes a term that callers use into the vocabulary, or ratifies a proposed one, and notes it. `address` is where the
 * console was asked from.
 */
export async function confirmAreaAs(
  pool: Pool,
  address: string,
  to: { readonly area: string; readonly status: "confirmed" | "proposed" },
): Promise<AreaOutcome> {
  const known = await findArea(pool, to.area);
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ outcome: AreaOutcome }[]>`
      select console_confirm_area(${to.area}, ${to.status}, ${known?.area ?? null}, ${address}) as outcome`,
  );
  return row?.outcome ?? "not_found";
}

/** Terms that are told apart by their spelling only, as the validator takes them: one. */
export interface UnknownTerm {
  /** As it was sent most often. */
  readonly term: string;
  readonly count: number;
  readonly lastAt: string;
  /** The most frequent first. */
  readonly tenants: readonly { readonly tenant: string; readonly count: number }[];
}

/** Groups what callers sent by tenant and spelling; the most frequent first. */
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
