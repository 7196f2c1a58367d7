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

/** The length of the prefix that the refs of a block share: 5 of the time's 14 hex digits, which is 19 hours. */
const blockLength = 5;

/** Returns the blocks that a span touches, newest first. */
function blocksOf({ from, to }: Span): string[] {
  const blockNumber = (ref: string) =>
    Number.parseInt(ref.slice(0, blockLength).padEnd(blockLength, "0"), 16);
  const [first, last] = [blockNumber(from), blockNumber(to)];
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (last - index).toString(16).padStart(blockLength, "0"),
  );
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
 * Returns a table `m` of the refs in a span that satisfy any of the conditions, newest first. Its nested loop reads the
 * blocks from the newest until the statement has enough rows, so the statement must not sort them again.
 */
export function matchingEntries(sql: Sql, conditions: readonly Fragment[], span: Span): Fragment {
  const parts = conditions.map((condition) =>
    sql`select e.ref from search_entry as e
      where left(e.ref, 5) = b.block and ${condition} and e.ref >= ${span.from} and e.ref < ${span.to}`
  );
  const union = parts.slice(1).reduce((whole, part) => sql`${whole} union ${part}`, parts[0] as Fragment);
  return sql`unnest(${blocksOf(span)}::text[]) as b (block)
    cross join lateral (select u.ref from (${union}) as u order by u.ref desc offset 0) as m`;
}
