/**
 * What a database is made of, as text: two databases of one shape have the same lines.
 *
 * @module
 */

import type postgres from "postgres";

/**
 * Every table, view, column, constraint, index, sequence, function, trigger and domain of ours, every right and the
 * owner of each: a line each, sorted. Whoever owns the database is called OWNER, so that two of them may differ.
 */
export async function describeCatalog(sql: postgres.Sql): Promise<string[]> {
  const [{ owner } = { owner: "" }] = await sql<{ owner: string }[]>`select current_user as owner`;
  const rows = await sql<{ line: string }[]>`
    with ours as (select oid, nspname from pg_namespace where nspname in ('public', 'actions')),
    acl as (
      select c.oid, null::smallint as attnum, c.relacl as items from pg_class as c
      union all select a.attrelid, a.attnum, a.attacl from pg_attribute as a
      union all select p.oid, null, p.proacl from pg_proc as p
      union all select n.oid, null, n.nspacl from pg_namespace as n
      union all select d.oid, null, d.datacl from pg_database as d
      union all select t.oid, null, t.typacl from pg_type as t
      union all select d.oid, null, d.defaclacl from pg_default_acl as d
    ),
    rights as (
      select oid, attnum, string_agg(item::text, ' ' order by item::text) as told
      from acl cross join unnest(items) as i (item) group by oid, attnum
    ),
    relation as (
      select c.*, n.nspname || '.' || c.relname as name from pg_class as c join ours as n on n.oid = c.relnamespace
    )
    select concat_ws(' ', 'schema', n.nspname, 'of', n.nspowner::regrole, r.told) as line
    from pg_namespace as n join ours using (oid) left join rights as r on r.oid = n.oid
    union all
    select concat_ws(' ', 'database', r.told) from pg_database as d join rights as r on r.oid = d.oid
    where d.datname = current_database()
    union all
    select concat_ws(' ', 'defaults', d.defaclnamespace::regnamespace, d.defaclobjtype, 'of', d.defaclrole::regrole, r.told)
    from pg_default_acl as d join rights as r on r.oid = d.oid where d.defaclrole = current_user::regrole
    union all
    select concat_ws(' ',
      'relation', c.relkind, c.name, 'of', c.relowner::regrole, c.relpersistence, c.reloptions, r.told,
      case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end
    )
    from relation as c left join rights as r on r.oid = c.oid and r.attnum is null where c.relkind not in ('i', 'I')
    union all
    select concat_ws(' ', 'order of columns of', c.name, string_agg(a.attname, ', ' order by a.attnum))
    from relation as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind not in ('i', 'I') group by c.name
    union all
    select concat_ws(' ',
      'column', c.name || '.' || a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
      'storage', a.attstorage, a.attcompression, 'collation', nullif(a.attcollation, 0)::regcollation,
      'identity', a.attidentity, 'generated', a.attgenerated, 'default', pg_get_expr(d.adbin, d.adrelid), r.told
    )
    from relation as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
    left join rights as r on r.oid = c.oid and r.attnum = a.attnum
    where c.relkind not in ('i', 'I')
    union all
    select concat_ws(' ', 'constraint', coalesce(c.name, d.typname), k.conname, k.convalidated, pg_get_constraintdef(k.oid))
    from pg_constraint as k join ours as n on n.oid = k.connamespace
    left join relation as c on c.oid = k.conrelid left join pg_type as d on d.oid = k.contypid
    union all
    select concat_ws(' ', 'index', i.indisvalid, pg_get_indexdef(i.indexrelid), c.reloptions)
    from pg_index as i join relation as c on c.oid = i.indexrelid
    union all
    select concat_ws(' ', 'sequence', s.seqrelid::regclass, format_type(s.seqtypid, null), s.seqstart, s.seqincrement,
      'of', (select d.refobjid::regclass || '.' || d.refobjsubid from pg_depend as d
        where d.objid = s.seqrelid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')))
    from pg_sequence as s join relation as c on c.oid = s.seqrelid
    union all
    select concat_ws(' ', 'function', p.oid::regprocedure, 'of', p.proowner::regrole, r.told, pg_get_functiondef(p.oid))
    from pg_proc as p join ours as n on n.oid = p.pronamespace left join rights as r on r.oid = p.oid
    union all
    select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger as t join relation as c on c.oid = t.tgrelid where not t.tgisinternal
    union all
    select concat_ws(' ', 'domain', t.oid::regtype, format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault,
      'of', t.typowner::regrole, r.told)
    from pg_type as t join ours as n on n.oid = t.typnamespace left join rights as r on r.oid = t.oid
    where t.typtype = 'd'
    union all
    select concat_ws(' ', 'role', rolname, rolcanlogin, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolbypassrls)
    from pg_roles where rolname in ('lead_service', 'lead_actions')`;
  return rows.map(({ line }) => line.replaceAll(owner, "OWNER")).sort();
}
