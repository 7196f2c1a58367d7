/**
 * Searches all events by filters for operators, newest first, in one statement: it reads the events from the newest in
 * the order of one index, chosen by the filters, and checks the other filters on each until the page is full. If few
 * match, the statement's timeout ends it.
 *
 * Rejected: counting the entries of each usable index first and scanning the shortest in rounds. Every search was fast,
 * but it took 400 lines more, and a page could be empty with more to come.
 */

import type postgres from "postgres";
import { eventIdAt } from "../../contract/event_id.ts";
import type { Flag } from "../../contract/fields.ts";
import { nameSpellings } from "../../lead/identifier.ts";
import { indexNewest } from "../jobs/search_indexer.ts";
import type { Pool } from "../pool.ts";
import type { DeliveryState } from "./events.ts";
import {
  equalsAny,
  type Fragment,
  matchingEntries,
  runSearch,
  type Span,
  startsWithAny,
} from "./search_entry.ts";

type Sql = postgres.Sql;

/** Selects events; a member that is `null` selects all. */
export interface SearchFilter {
  /** A tenant's slug. */
  readonly tenant: string | null;
  /** A key's label. */
  readonly source: string | null;
  readonly kind: "lead" | "form" | null;
  readonly flag: Flag | null;
  readonly state: DeliveryState | null;
  /** Selects events received at this time or later; ISO 8601, UTC. */
  readonly since: string | null;
  /** Selects events received before this time; ISO 8601, UTC. */
  readonly until: string | null;
  /** A number, as in `search_entry`. */
  readonly phone: string | null;
  /** Selects events with any of these addresses, in lower case; an empty list selects all. */
  readonly emails: readonly string[];
  /** A prefix of the last name, in upper or lower case. */
  readonly lastName: string | null;
}

interface SearchPage {
  /** The events' ids, newest first. */
  readonly eventIds: readonly string[];
  /** The id before which to continue, `null` at the end. */
  readonly before: string | null;
}

/**
 * Finds events; `page.before` is the previous page's `before`.
 *
 * @throws {SearchTimeout}
 */
export async function searchEvents(
  pool: Pool,
  filter: SearchFilter,
  { before, limit }: { readonly before: string | null; readonly limit: number },
): Promise<SearchPage> {
  const isOfPerson = filter.phone !== null || filter.emails.length > 0 || filter.lastName !== null;
  if (isOfPerson && before === null) await indexNewest(pool);
  const scope = await resolve(pool, filter);
  if (scope === null) return { eventIds: [], before: null };
  const ends = [scope.to, ...(filter.until === null ? [] : [idAt(filter.until)]), before ?? scope.to].sort();
  const starts = [scope.from, filter.since === null ? scope.from : idAt(filter.since)].sort();
  const query: Query = { ...scope, filter, isOfPerson, rows: limit + 1 };
  const span = { from: starts.at(-1) as string, to: ends[0] as string };
  const rows = await runSearch(pool, (sql) => sql<{ event_id: string }[]>`${statement(sql, query, span)}`);
  const eventIds = rows.slice(0, limit).map(({ event_id: id }) => id);
  return { eventIds, before: rows.length > limit ? eventIds.at(-1) as string : null };
}

const idAt = (time: string) => eventIdAt(Date.parse(time));

/** The tenant's id, the keys that match tenant, source and kind (`null`: all), and the span of all events. */
interface Scope extends Span {
  readonly tenantId: number | null;
  readonly keyIds: number[] | null;
}

/** Returns `null` if nothing can match. */
async function resolve(pool: Pool, { tenant, source, kind }: SearchFilter): Promise<Scope | null> {
  const isAnyKey = tenant === null && source === null && kind === null;
  const surface = kind === "form" ? "forms" : "intake";
  const [row] = await runSearch(
    pool,
    (sql) =>
      sql<{ from: string | null; newest: string; tenantId: number | null; keyIds: number[] }[]>`
      select (select min(event_id) from event) as from, (select max(event_id) from event) as newest,
        (select id from tenant where slug = ${tenant}) as "tenantId",
        array(
          select k.id from api_key as k join tenant as t on t.id = k.tenant_id
          where ${!isAnyKey} and ${tenant === null ? sql`true` : sql`t.slug = ${tenant}`}
            and ${source === null ? sql`true` : sql`k.label = ${source}`}
            and ${kind === null ? sql`true` : sql`k.surface = ${surface}`}
        ) as "keyIds"`,
  );
  if (row === undefined || row.from === null || (!isAnyKey && row.keyIds.length === 0)) return null;
  const { from, newest, tenantId } = row;
  return { from, to: `${newest}g`, tenantId, keyIds: isAnyKey ? null : row.keyIds };
}

interface Query extends Scope {
  readonly filter: SearchFilter;
  readonly isOfPerson: boolean;
  readonly rows: number;
}

// With more keys, reading some events of each costs more than reading all events.
const keysMax = 1_000;

/** Returns the statement, with the index whose entries probably are fewest. */
function statement(sql: Sql, query: Query, span: Span): Fragment {
  const { filter: { flag, state }, isOfPerson, keyIds, rows } = query;
  const where = conditions(sql, query);
  // `offset 0` keeps the planner from reading events in another order.
  const joined = sql`
    cross join lateral (select from event as e where e.event_id = m.ref and ${where} offset 0) as f limit ${rows}`;
  const within = sql`e.event_id >= ${span.from} and e.event_id < ${span.to}`;
  if (isOfPerson) {
    const entries = matchingEntries(sql, personConditions(sql, query.filter), span);
    return sql`select m.ref as event_id from ${entries} ${joined}`;
  }
  if (state === "held" || state === "dead" || state === "pending" || state === "sending") {
    return sql`
      select m.ref as event_id
      from (${
      stateTable(sql, state, query)
    } and ${within} order by e.event_id desc offset 0) as m (ref) ${joined}`;
  }
  if (keyIds !== null && flag === null && keyIds.length <= keysMax) {
    // Compares and sorts rows, because the planner may scan all events for `key_id = …`.
    return sql`
      select e.event_id
      from unnest(${keyIds}::int[]) as k (id)
      cross join lateral (
        select e.event_id from event as e
        where (e.key_id, e.event_id) >= (k.id, ${span.from}) and (e.key_id, e.event_id) < (k.id, ${span.to})
          and ${conditions(sql, { ...query, keyIds: null })}
        order by e.key_id desc, e.event_id desc limit ${rows}
      ) as e
      order by e.event_id desc limit ${rows}`;
  }
  return sql`
    select e.event_id from event as e where ${within} and ${where} order by e.event_id desc limit ${rows}`;
}

/** Returns alternative conditions on row `e` of `search_entry`, which combine all filters by person. */
function personConditions(sql: Sql, { phone, emails, lastName }: SearchFilter): Fragment[] {
  const filters = [
    equalsAny(sql, "phone", phone === null ? [] : [phone]),
    equalsAny(sql, "email", emails),
    startsWithAny(sql, "last_name", lastName === null ? [] : nameSpellings(lastName)),
  ].filter((alternatives) => alternatives.length > 0);
  return filters.reduce((all, alternatives) =>
    all.flatMap((one) => alternatives.map((other) => sql`${one} and ${other}`))
  );
}

/** Returns the start of a statement that reads a state's own table, which is small unless something is wrong. */
function stateTable(sql: Sql, state: "held" | "dead" | "pending" | "sending", { tenantId }: Scope): Fragment {
  const ofTenant = tenantId === null ? sql`true` : sql`e.tenant_id = ${tenantId}`;
  if (state === "held") {
    return sql`select e.event_id from submission as e
      where e.verdict <> 'clean' and e.released_at is null and ${ofTenant}`;
  }
  return sql`select e.event_id from ${
    state === "dead" ? sql`dead_letter` : sql`outbox`
  } as e where ${ofTenant}`;
}

/** Returns the conditions on event `e`. */
function conditions(sql: Sql, { filter: { flag, state }, keyIds }: Query): Fragment {
  const all = [
    ...(keyIds === null ? [] : [sql`e.key_id = any (${keyIds}::int[])`]),
    // A literal, because the planner uses a partial index only for its literal predicate. Flags are constants, so they need
    // no escaping.
    ...(flag === null ? [] : [sql.unsafe(`e.flags @> '{${flag}}'`) as unknown as Fragment]),
    ...(state === null ? [] : [inState(sql, state)]),
  ];
  return all.reduce((both, one) => sql`${both} and ${one}`, sql`true`);
}

// The states as in events.ts. `offset 0` keeps each check a lookup of one row; otherwise the planner might read a whole
// table that has grown in an outage.
function inState(sql: Sql, state: DeliveryState): Fragment {
  const outbox = (condition: Fragment) =>
    sql`exists (select from outbox as o where o.event_id = e.event_id and ${condition} offset 0)`;
  const isSending = sql`o.lease_until > service_clock()`;
  const dead = sql`exists (select from dead_letter as d where d.event_id = e.event_id offset 0)`;
  const held = sql`(e.kind = 'form' and exists (
    select from submission as s
    where s.event_id = e.event_id and s.verdict <> 'clean' and s.released_at is null
    offset 0))`;
  const attempted = (outcome: "delivered" | "marked") =>
    sql`exists (select from attempt as a where a.event_id = e.event_id and a.outcome = ${outcome} offset 0)`;
  const marked = sql`(${attempted("marked")} and not ${attempted("delivered")})`;
  const erased = sql`(e.removed_at is not null and not ${attempted("delivered")} and not ${
    attempted("marked")
  })`;
  const waits = outbox(sql`true`);
  switch (state) {
    case "dead":
      return dead;
    case "sending":
      return sql`(${outbox(isSending)} and not ${dead})`;
    case "pending":
      return sql`(${outbox(sql`not coalesce(${isSending}, false)`)} and not ${dead})`;
    case "erased":
      return sql`(${erased} and not ${waits} and not ${dead})`;
    case "held":
      return sql`(${held} and not ${erased} and not ${waits} and not ${dead})`;
    case "marked":
      return sql`(${marked} and not ${waits} and not ${dead})`;
    case "delivered":
      return sql`(not ${waits} and not ${dead} and not ${held} and not ${erased} and not ${marked})`;
  }
}
