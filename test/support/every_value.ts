/** Reads a whole database as text, for tests that a value is nowhere stored or that rows are unchanged. */

import type postgres from "postgres";

/** One value of one row. */
export interface StoredValue {
  /** `schema.table.column` */
  readonly column: string;
  readonly text: string;
}

interface ColumnRow {
  readonly schema: string;
  readonly table: string;
  readonly columns: string[];
}

async function tables(sql: postgres.Sql): Promise<ColumnRow[]> {
  return await sql<ColumnRow[]>`
    select n.nspname as schema, c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'p', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    group by 1, 2 order by 1, 2`;
}

/** Returns every row by table, each column as text. */
export async function everyRow(
  sql: postgres.Sql,
): Promise<Map<string, readonly Readonly<Record<string, string | null>>[]>> {
  const all = new Map<string, readonly Readonly<Record<string, string | null>>[]>();
  for (const { schema, table, columns } of await tables(sql)) {
    const quoted = columns.map((column) => `"${column}"::text as "${column}"`).join(", ");
    const rows = await sql.unsafe(`select ${quoted} from "${schema}"."${table}"`);
    all.set(`${schema}.${table}`, rows.map((row) => ({ ...row })));
  }
  return all;
}

/** Returns every stored value. */
export async function everyValue(sql: postgres.Sql): Promise<StoredValue[]> {
  return [...await everyRow(sql)].flatMap(([table, rows]) =>
    rows.flatMap((row) =>
      Object.entries(row).flatMap(([name, text]) =>
        text === null ? [] : [{ column: `${table}.${name}`, text }]
      )
    )
  );
}

/** Returns the rows that contain one of the texts, as comparable lines in a fixed order. */
export async function rowsWith(sql: postgres.Sql, texts: readonly string[]): Promise<string[]> {
  return [...await everyRow(sql)].flatMap(([table, rows]) =>
    rows.map((row) => `${table} ${JSON.stringify(row)}`).filter((line) =>
      texts.some((text) => line.includes(text))
    )
  ).sort();
}

/** Returns the values that ANALYZE copied into the planner's statistics, by column or index. */
export async function everyStatistic(sql: postgres.Sql): Promise<StoredValue[]> {
  return await sql<StoredValue[]>`
    select concat_ws('.', schemaname, tablename, attname) as column,
      concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems) as text
    from pg_stats where schemaname !~ '^pg_' and schemaname <> 'information_schema'
    union all
    select concat_ws('.', schemaname, statistics_name, expr),
      concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems)
    from pg_stats_ext_exprs
    union all
    select concat_ws('.', schemaname, statistics_name), most_common_vals::text from pg_stats_ext`;
}

/** Returns the columns, as `schema.table.column`, whose values ANALYZE copies if there are enough rows. */
export async function analyzedColumns(sql: postgres.Sql): Promise<Set<string>> {
  const rows = await sql<{ column: string }[]>`
    select concat_ws('.', c.relnamespace::regnamespace, c.relname, a.attname) as column
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
    where c.relkind in ('r', 'p', 'm') and a.attstattarget is distinct from 0 and a.atttypid <> 'json'::regtype`;
  return new Set(rows.map(({ column }) => column));
}
