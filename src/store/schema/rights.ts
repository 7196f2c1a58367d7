/** Compares the rights of the services' roles and of everyone in a database with `sql/grants.sql`. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Pool } from "../pool.ts";

/** The file that a superuser runs in each database. */
export const builtinsFile = fileURLToPath(new URL("../../../sql/builtins.sql", import.meta.url));
const grantsFile = fileURLToPath(new URL("../../../sql/grants.sql", import.meta.url));
const deadlineMs = 6_000;

/**
 * Connections that a login of each group may open. Chosen: enough for both instances of each service during an
 * upgrade and for three actions processes, out of PostgreSQL's 100; the owner has the rest.
 */
export const connectionLimits = { lead_service: 72, lead_actions: 24 } as const;

/** Differences, such as `select on public.event to lead_service`; sorted. */
export interface RightsDifference {
  /** Processes fail without these. */
  readonly missing: readonly string[];
  /** An attacker who takes over a process gains these. */
  readonly surplus: readonly string[];
  /** PostgreSQL's own functions by name, which only a superuser can revoke (`sql/builtins.sql`). */
  readonly builtins: readonly string[];
}

/** Compares the rights. Ignores those of other roles and of extensions, as the migration does. */
export async function compareRights(pool: Pool): Promise<RightsDifference> {
  const [given, granted, builtins] = await Promise.all([readGiven(), readGranted(pool), readBuiltins(pool)]);
  const isIn = (lines: ReadonlySet<string>) => (line: string) => lines.has(line);
  return {
    missing: [...given].filter((line) => !isIn(granted)(line)).sort(),
    surplus: [...granted].filter((line) => !isIn(given)(line)).sort(),
    builtins,
  };
}

/** The functions in the file that a group may call. */
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

/** The grants below "The list." in the file. */
async function readGiven(): Promise<ReadonlySet<string>> {
  const text = (await readFile(grantsFile, "utf8")).replace(/^\s*--(?! The list\.).*$/gm, "");
  const list = text.slice(text.indexOf("-- The list."));
  const statements = list.matchAll(
    /^grant (\w+)\s*(?:\(([^)]*)\))?\s+on\s+(?:(schema|function)\s+)?([^;]+?)\s+to\s+([^;]+);/gm,
  );
  // An overloaded function is granted with its arguments.
  const words = (part: string) =>
    part.split(/,(?![^()]*\))/).map((word) => word.trim().replace(/\(.*\)$/s, ""));
  const lines = new Set<string>();
  for (const [, right = "", columns, kind, objects = "", roles = ""] of statements) {
    for (const object of words(objects)) {
      const name = kind === "schema" || object.includes(".") ? object : `public.${object}`;
      for (const role of words(roles)) {
        for (const column of columns === undefined ? [""] : words(columns)) {
          lines.add(lineOf(right, { name, column, role }));
        }
      }
    }
  }
  return lines;
}

function lineOf(
  right: string,
  to: { readonly name: string; readonly column: string; readonly role: string },
): string {
  return `${right} on ${to.name}${to.column === "" ? "" : ` (${to.column})`} to ${to.role}`;
}

async function readGranted(pool: Pool): Promise<ReadonlySet<string>> {
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
      select lower(a.privilege_type) as right, h.name, h."column", coalesce(r.rolname, 'everybody') as role
      from held as h cross join aclexplode(h.acl) as a left join pg_roles as r on r.oid = a.grantee
      where (a.grantee = 0 or r.rolname in ('lead_service', 'lead_actions'))
        -- Everybody may look names up in the schema public.
        and not (h.name = 'public' and a.grantee = 0 and a.privilege_type = 'USAGE')
        and (h.owner is null or h.owner = (select c.relowner from pg_class as c where c.oid = to_regclass('public.event')))
        and not exists (
          select from pg_depend as d where d.classid = h.catalog and d.objid = h.oid and d.deptype = 'e'
        )`,
  );
  return new Set(rows.map(({ right, ...to }) => lineOf(right, to)));
}
