/** Finds rows of `search_entry`, newest first. */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";
import { query } from "../query.ts";
import { sqlStateOf } from "../unavailable.ts";

type Sql = postgres.Sql;
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** The server's timeout for a search. Chosen: long enough for a cold cache, short enough to wait for in a page. */
export const searchTimeoutMs = 3_000;

/** The search did not finish within the statement timeout of its pool. */
export class SearchTimeout extends Error {
  override readonly name = "SearchTimeout";

  constructor(options?: ErrorOptions) {
    super(
      "The search takes too long; narrow it, for example to a tenant, a shorter time or a longer text",
      options,
    );
  }
}

/**
 * Runs a search.
 *
 * @throws {SearchTimeout}
 */
export async function runSearch<T>(pool: Pool, statement: (sql: Sql) => PromiseLike<T>): Promise<T> {
  try {
    return await query(pool, statement);
  } catch (error) {
    throw sqlStateOf(error) === "57014" ? new SearchTimeout({ cause: error }) : error;
  }
}

/** Refs from `from` (inclusive) to `to` (exclusive). */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** Returns the number of a ref's block, like search_block in sql/. */
const blockOf = (ref: string) => Number.parseInt(ref.slice(0, 6), 16) >> 5;

/**
 * Returns the numbers of the first and last blocks of the parts in which a span is read, newest first. Each part has twice
 * as many blocks as the one before: common values are found in a few blocks, rare ones in a few parts.
 */
function partsOf({ from, to }: Span): { readonly firsts: number[]; readonly lasts: number[] } {
  const parts = { firsts: [] as number[], lasts: [] as number[] };
  for (let [last, size] = [blockOf(to), 1]; last >= blockOf(from); last -= size, size *= 2) {
    parts.firsts.push(Math.max(last - size + 1, blockOf(from)));
    parts.lasts.push(last);
  }
  return parts;
}

/** Returns conditions on row `e` of `search_entry`, each served by one index: the column equals one of the values. */
export const equalsAny = (sql: Sql, column: string, values: readonly string[]): Fragment[] =>
  values.map((value) => sql`e.${sql(column)} = ${value}`);

/** Returns conditions like {@linkcode equalsAny}: the column starts with one of the prefixes. */
export const startsWithAny = (sql: Sql, column: string, prefixes: readonly string[]): Fragment[] =>
  // A prefix followed by U+10FFFF sorts after every text with the prefix.
  prefixes.map((prefix) =>
    sql`e.${sql(column)} >= ${prefix} and e.${sql(column)} < ${`${prefix}\u{10FFFF}`}`
  );

/**
 * Returns a table `m` of the refs in a span that satisfy any of the conditions, newest first. Its nested loop reads parts of
 * the span until the statement has enough rows, so the statement must not sort them again. Only the sorted refs are compared
 * with the span, and `offset 0` keeps it so: otherwise, a generic plan reads the primary key's whole range.
 */
export function matchingEntries(sql: Sql, conditions: readonly Fragment[], span: Span): Fragment {
  const alternatives = conditions.map((condition) =>
    sql`select e.ref from search_entry as e
      where search_block(e.ref) = any (b.blocks) and ${condition}`
  );
  const union = alternatives.slice(1).reduce(
    (all, one) => sql`${all} union ${one}`,
    alternatives[0] as Fragment,
  );
  const { firsts, lasts } = partsOf(span);
  return sql`unnest(${firsts}::int[], ${lasts}::int[]) as p (first, last)
    cross join lateral (
      select array(select generate_series(p.first, p.last)) as blocks offset 0
    ) as b
    cross join lateral (
      select s.ref from (select u.ref from (${union}) as u order by u.ref desc offset 0) as s
      where s.ref >= ${span.from} and s.ref < ${span.to}
    ) as m`;
}
