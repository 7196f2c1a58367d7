/**
 * What processes and `ctl` of a release rely on in a database, and whether a later migration keeps it.
 *
 * @module
 */

import type postgres from "postgres";

/** What a catalog lets them rely on, a line each, and the columns that somebody who does not know them may leave out. */
export interface Promises {
  readonly lines: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /** Columns that an insert has to give. */
  readonly needed: ReadonlySet<string>;
}

/** Reads them. */
export async function readPromises(sql: postgres.Sql): Promise<Promises> {
  const columns = await sql<
    { table: string; column: string; type: string; mayBeNull: boolean; isNeeded: boolean }[]
  >`
    select c.oid::regclass::text as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      not a.attnotnull as "mayBeNull",
      a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = '' and c.relkind in ('r', 'p') as "isNeeded"
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace in ('public'::regnamespace, 'actions'::regnamespace)`;
  const functions = await sql<{ name: string; line: string }[]>`
    select p.oid::regprocedure::text as name,
      format('function %s.%s(%s) returns %s', n.nspname, p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
        as line
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ('public', 'actions') and p.prokind = 'f'`;
  const rights = await sql<{ line: string }[]>`
    with role as (select rolname from pg_roles where rolname in ('lead_service', 'lead_actions'))
    select format('%s may call %s', r.rolname, p.oid::regprocedure) as line
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace cross join role as r
    where n.nspname in ('public', 'actions') and has_function_privilege(r.rolname, p.oid, 'execute')
    union all
    select format('%s may %s %s.%s', r.rolname, w.what, c.oid::regclass, a.attname)
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join role as r cross join unnest('{select,insert,update}'::text[]) as w (what)
    where c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace in ('public'::regnamespace, 'actions'::regnamespace)
      and has_column_privilege(r.rolname, c.oid, a.attnum, w.what)`;
  const lines = new Set([
    ...columns.map(({ table, column, type }) => `column ${table}.${column} ${type}`),
    ...columns.filter(({ mayBeNull }) => mayBeNull).map(({ table, column }) =>
      `${table}.${column} may be null`
    ),
    ...functions.map(({ line }) => line),
    ...rights.map(({ line }) => line),
  ]);
  return {
    lines,
    tables: new Set(columns.map(({ table }) => table)),
    needed: new Set(
      columns.filter(({ isNeeded }) => isNeeded).map(({ table, column }) => `${table}.${column}`),
    ),
  };
}

/**
 * What a migration has broken, a sentence each. What a numbered file marks as given up (`-- contract: public.event.old`) is
 * not, because no served release uses it any more.
 */
export function brokenPromises(before: Promises, after: Promises, marked: readonly string[] = []): string[] {
  const isMarked = (line: string) => marked.some((object) => line.includes(object));
  const gone = [...before.lines].filter((line) => !after.lines.has(line) && !isMarked(line));
  const needed = [...after.needed].filter((column) =>
    !before.needed.has(column) && before.tables.has(column.replace(/\.[^.]*$/, "")) &&
    ![...before.lines].some((line) => line.startsWith(`column ${column} `)) && !isMarked(column)
  );
  return [
    ...gone.map((line) => `no longer: ${line}`),
    ...needed.map((column) => `${column} has no default, and is not known to who inserts`),
  ].sort();
}

/** What numbered files give up, as they mark it. */
export function marksOf(texts: readonly string[]): string[] {
  return texts.flatMap((text) =>
    [...text.matchAll(/^-- contract: (\S+)/gm)].map(([, object = ""]) => object)
  );
}
