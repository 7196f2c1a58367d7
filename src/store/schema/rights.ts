/** Compares the rights that the services' roles and PUBLIC have in a database with `sql/grants.sql`. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Pool } from "../pool.ts";

/** The path of the file that a superuser runs in each database. */
export const builtinsFile = fileURLToPath(new URL("../../../sql/builtins.sql", import.meta.url));
const grantsFile = fileURLToPath(new URL("../../../sql/grants.sql", import.meta.url));
const deadlineMs = 6_000;

/**
 * The maximum number of connections for a login role in each group. Chosen: enough for both instances of each service
 * during an upgrade and for three actions processes, out of PostgreSQL's 100.
 */
export const connectionLimits = { lead_service: 72, lead_actions: 24 } as const;

/** The sorted differences, such as `select on public.event to lead_service`. */
export interface RightsDifference {
  /** The rights that processes need but lack. */
  readonly missing: readonly string[];
  /** The rights that processes have but do not need; an attacker who takes over a process gains them. */
  readonly surplus: readonly string[];
  /** PostgreSQL's own functions that processes may call until a superuser runs `sql/builtins.sql`. */
  readonly builtins: readonly string[];
}

/** Compares the rights, except those of other roles and on extensions' objects, which a migration does not change either. */
export async function compareRights(pool: Pool): Promise<RightsDifference> {
  const [expected, actual, builtins] = await Promise.all([
    readGrants(),
    readRights(pool),
    readBuiltins(pool),
  ]);
  return {
    missing: [...expected].filter((line) => !actual.has(line)).sort(),
    surplus: [...actual].filter((line) => !expected.has(line)).sort(),
    builtins,
  };
}

/** Returns the functions of {@linkcode builtinsFile} that a group may call. */
async function readBuiltins(pool: Pool): Promise<string[]> {
  const [, functions = ""] = /for v_function in\n(.*)\n\s*loop/s.exec(await readFile(builtinsFile, "utf8")) ??
    [];
  const rows = await pool.run(
    deadlineMs,
    (sql) =>
      sql<{ name: string }[]>`
      select distinct p.proname as name
      from (${
        sql.unsafe(functions)
      }) as f (id) join pg_proc as p on p.oid = f.id, unnest(array['lead_service', 'lead_actions']) as r (name)
      where has_function_privilege(r.name, p.oid, 'execute') order by name`,
  );
  return rows.map(({ name }) => name);
}

/** Parses the grants below "The list." in `sql/grants.sql`. */
async function readGrants(): Promise<ReadonlySet<string>> {
  const text = (await readFile(grantsFile, "utf8")).replace(/^\s*--(?! The list\.).*$/gm, "");
  const list = text.slice(text.indexOf("-- The list."));
  const statements = list.matchAll(
    /^grant (\w+)\s*(?:\(([^)]*)\))?\s+on\s+(?:(schema|function)\s+)?([^;]+?)\s+to\s+([^;]+);/gm,
  );
  // A grant on an overloaded function lists its arguments.
  const words = (part: string) =>
    part.split(/,(?![^()]*\))/).map((word) => word.trim().replace(/\(.*\)$/s, ""));
  const lines = new Set<string>();
  for (const [, right = "", columns, kind, objects = "", roles = ""] of statements) {
    for (const object of words(objects)) {
      const name = kind === "schema" || object.includes(".") ? object : `public.${object}`;
      for (const role of words(roles)) {
        for (const column of columns === undefined ? [""] : words(columns)) {
          lines.add(formatRight(right, { name, column, role }));
        }
      }
    }
  }
  return lines;
}

function formatRight(
  right: string,
  to: { readonly name: string; readonly column: string; readonly role: string },
): string {
  return `${right} on ${to.name}${to.column === "" ? "" : ` (${to.column})`} to ${to.role}`;
}

async function readRights(pool: Pool): Promise<ReadonlySet<string>> {
  const rows = await pool.run(
    deadlineMs,
    (sql) =>
      sql<{ right: string; name: string; column: string; role: string }[]>`
      with ours as (
        select n.oid, n.nspname, n.nspacl from pg_namespace as n where n.nspname in ('public', 'actions')
      ),
      held as (
        select 'pg_namespace'::regclass as catalog, n.oid, null::oid as owner, n.nspname::text as name, '' as "column",
          n.nspacl as acl
        from ours as n
        union all
        select 'pg_class'::regclass, c.oid, c.relowner, n.nspname || '.' || c.relname, '', c.relacl
        from pg_class as c join ours as n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union all
        select 'pg_class'::regclass, c.oid, c.relowner, n.nspname || '.' || c.relname, a.attname, a.attacl
        from pg_class as c join ours as n on n.oid = c.relnamespace join pg_attribute as a on a.attrelid = c.oid
        where not a.attisdropped
        union all
        select 'pg_proc'::regclass, p.oid, p.proowner, n.nspname || '.' || p.proname, '',
          coalesce(p.proacl, acldefault('f', p.proowner))
        from pg_proc as p join ours as n on n.oid = p.pronamespace
      )
      select lower(a.privilege_type) as right, h.name, h."column", coalesce(r.rolname, 'public') as role
      from held as h cross join aclexplode(h.acl) as a left join pg_roles as r on r.oid = a.grantee
      where (a.grantee = 0 or r.rolname in ('lead_service', 'lead_actions'))
        -- PUBLIC may look up names in the schema public.
        and not (h.name = 'public' and a.grantee = 0 and a.privilege_type = 'USAGE')
        and (h.owner is null or h.owner = (select c.relowner from pg_class as c where c.oid = to_regclass('public.event')))
        and not exists (
          select from pg_depend as d where d.classid = h.catalog and d.objid = h.oid and d.deptype = 'e'
        )`,
  );
  return new Set(rows.map(({ right, ...to }) => formatRight(right, to)));
}
