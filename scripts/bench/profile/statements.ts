/**
 * What the statements cost PostgreSQL, those inside its functions too, by `pg_stat_statements`.
 *
 * @module
 */

import type postgres from "postgres";
import { digits } from "../stats.ts";

/** Settings of a server on which statements are counted. */
export const statementSettings = {
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "all",
} as const;

/** Statements that are told. */
const shown = 25;
/** Characters of one. */
const textMax = 110;

interface Statement {
  readonly isTop: boolean;
  readonly calls: number;
  readonly ms: number;
  readonly rows: number;
  readonly walBytes: number;
  readonly text: string;
}

/** Counts the statements of everybody but ourselves during the work; tells them as lines of a table. */
export async function countStatements<T>(
  sql: postgres.Sql,
  work: () => Promise<T>,
): Promise<{ found: T; lines: string[] }> {
  await sql`create extension if not exists pg_stat_statements`;
  await sql`select pg_stat_statements_reset()`;
  const found = await work();
  const statements = await sql<Statement[]>`
    select toplevel as "isTop", sum(calls)::int as calls, sum(total_exec_time) as ms, sum(rows)::int as rows,
      sum(wal_bytes)::float8 as "walBytes", regexp_replace(query, '[[:space:]]+', ' ', 'g') as text
    from pg_stat_statements
    where query !~* 'pg_stat|^(create|alter|drop|checkpoint)'
    group by toplevel, text order by ms desc limit ${shown}`;
  return {
    found,
    lines: [
      "elapsed ms     calls      rows WAL bytes",
      ...statements.map(({ isTop, calls, ms, rows, walBytes, text }) =>
        [digits(ms), calls, rows, Math.round(walBytes)].map((value) => String(value).padStart(10)).join("") +
        `  ${isTop ? "" : "  in it: "}${text.length <= textMax ? text : `${text.slice(0, textMax)}…`}`
      ),
    ],
  };
}
