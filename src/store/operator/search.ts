/**
 * The operator's search over all events, the newest first, in milliseconds whatever is asked: a search examines
 * a bounded number of index entries and may come back with less than was asked for and a place to go on from.
 *
 * It goes in steps. Each filter that an index serves is a *way* (see {@linkcode Way}); the way with the fewest
 * entries is found by bounded counts, walked from its newest end in rounds, and every event on it is held against
 * the other filters.
 *
 * @module
 */

import type postgres from "postgres";
import { eventIdAt } from "../../contract/event_id.ts";
import type { Pool } from "../pool.ts";
import { type Filters, matches, type SearchFilter } from "./search_filter.ts";
import { blockDigits, eventWay, type Span, type Way, waysOf, wholeStream } from "./search_ways.ts";

/** A page of what was found. */
interface Found {
  /** At most as many as were asked for, the newest first. */
  readonly eventIds: readonly string[];
  /** Go on before this id; `null` when there is no more. A short page may have one. */
  readonly before: string | null;
}

/**
 * How a connection has to plan for it, see {@linkcode Pool}: along the indexes, and each time anew, because the best
 * plan for one tenant or name is the worst for another.
 */
export const searchSettings = {
  plan_cache_mode: "force_custom_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_sort: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  max_parallel_workers_per_gather: 0,
} as const;

const deadlineMs = 5_000;
// Entries of a way that are counted to compare it with the others.
const countMax = 1_000;
// Entries that are examined, round after round: few when what is wanted is everywhere, and about 5,000 at most, which
// takes some 30 ms when each has to be looked at (measured with 5 million events; 20,000 took 120 ms).
const roundEntries = [0, 1_000, 4_000];
const firstRoundMin = 200;
// A way for each key is walked only by so many at once: beyond it each would get too few entries.
const keysMax = 1_000;

/**
 * Finds events.
 *
 * @param page `before`: the `before` of the page before; `limit`: ids at most
 * @throws {Unavailable} when the store is away or takes too long
 */
export async function searchEvents(
  pool: Pool,
  filter: SearchFilter,
  page: { readonly before: string | null; readonly limit: number },
): Promise<Found> {
  const resolved = await resolve(pool, filter);
  if (resolved === null) return { eventIds: [], before: null };
  const { filters, stored } = resolved;
  let span = spanOf(filter, { stored, before: page.before });
  let way = await chooseWay(pool, filters, span);
  const eventIds: string[] = [];
  for (const entries of roundEntries) {
    if (span.from >= span.to) return { eventIds, before: null };
    const wanted = page.limit + 1 - eventIds.length;
    const budget = entries === 0 ? Math.max(firstRoundMin, 2 * wanted) : entries;
    const { hits, edge } = await walk(pool, way, { span, filters, wanted, budget });
    eventIds.push(...hits);
    if (eventIds.length > page.limit) {
      const ids = eventIds.slice(0, page.limit);
      return { eventIds: ids, before: ids.at(-1) as string };
    }
    if (edge === null) return { eventIds, before: null };
    // More in one block than a round may look at: among all events there are enough of them.
    if (edge >= span.to) way = eventWay;
    else span = { from: span.from, to: edge };
  }
  return { eventIds, before: span.to };
}

/**
 * The filters with tenant, source and kind as ids, and the span of all that is stored; `null` when nothing can match.
 */
async function resolve(
  pool: Pool,
  filter: SearchFilter,
): Promise<{ readonly filters: Filters; readonly stored: Span } | null> {
  const { tenant, source, kind } = filter;
  const isAnyKey = tenant === null && source === null && kind === null;
  const [row] = await pool.run(
    deadlineMs,
    (sql) =>
      sql<{ oldest: string | null; newest: string; key_ids: number[]; tenant_id: number | null }[]>`
      select
        (select min(event_id) from event) as oldest,
        (select max(event_id) from event) as newest,
        (select id from tenant where slug = ${tenant}) as tenant_id,
        array(
          select k.id
          from api_key as k join tenant as t on t.id = k.tenant_id
          where ${isAnyKey ? sql`false` : sql`true`}
            and ${tenant === null ? sql`true` : sql`t.slug = ${tenant}`}
            and ${source === null ? sql`true` : sql`k.label = ${source}`}
            and ${kind === null ? sql`true` : sql`k.surface = ${kind === "form" ? "forms" : "intake"}`}
          order by k.id
        ) as key_ids`,
  );
  if (row === undefined || row.oldest === null || (!isAnyKey && row.key_ids.length === 0)) return null;
  return {
    filters: { ...filter, tenantId: row.tenant_id, keyIds: isAnyKey ? null : row.key_ids },
    stored: { from: row.oldest, to: `${row.newest}g` },
  };
}

function spanOf(
  { since, until }: SearchFilter,
  { stored, before }: { readonly stored: Span; readonly before: string | null },
): Span {
  const ends = [
    stored.to,
    ...(until === null ? [] : [eventIdAt(Date.parse(until))]),
    ...(before === null ? [] : [before]),
  ];
  const starts = [stored.from, ...(since === null ? [] : [eventIdAt(Date.parse(since))])];
  return { from: starts.sort().at(-1) as string, to: ends.sort()[0] as string };
}

/** The way with the fewest entries in the span; of those with more than can be counted, the first. */
async function chooseWay(pool: Pool, filters: Filters, span: Span): Promise<Way> {
  const ways = waysOf(filters, keysMax);
  if (ways.length === 1) return ways[0] as Way;
  const [row] = await pool.run(deadlineMs, (sql) => {
    const count = (way: Way) =>
      sql`(
        select count(*)::int
        from (select from (${way.entries(sql, { span, perStream: countMax })}) as e limit ${countMax}) as w
      )`;
    const counts = ways.slice(1).reduce(
      (list, way) => sql`${list}, ${count(way)}`,
      count(ways[0] as Way),
    );
    return sql<{ counts: number[] }[]>`select array[${counts}] as counts`;
  });
  const counts = row?.counts ?? [];
  const counted = ways.map((way, index) => ({ way, count: counts[index] ?? countMax }));
  return counted.reduce((best, next) => next.count < best.count ? next : best).way;
}

/** One round: the newest matches among the next entries of a way, and how far that was; `null`: to its end. */
async function walk(
  pool: Pool,
  way: Way,
  { span, filters, wanted, budget }: { span: Span; filters: Filters; wanted: number; budget: number },
): Promise<{ hits: string[]; edge: string | null }> {
  const perStream = Math.max(1, Math.floor(budget / way.streams));
  const [row] = await pool.run(deadlineMs, (sql: postgres.Sql) => {
    const entries = way.entries(sql, { span, perStream });
    const hit = matches(sql, filters, way.serves);
    const left = way.isOfBlocks ? leftInBlocks(sql) : sql`min(event_id)`;
    const rows = way.hasEvent || hit === null
      ? sql`(${entries}) as e`
      : sql`(${entries}) as w join event as e on e.event_id = w.event_id`;
    return sql<{ hits: string[]; edge: string | null }[]>`
      with walked as materialized (
        select stream, e.event_id, ${hit ?? sql`true`} as hit from ${rows}
      ),
      edge as (
        select max(s.event_id) as event_id
        from (select ${left} as event_id from walked group by stream having count(*) >= ${perStream}) as s
      )
      select
        (select event_id from edge) as edge,
        array(
          select distinct w.event_id from walked as w
          where w.hit and w.event_id >= coalesce((select event_id from edge), '')
          order by w.event_id desc limit ${wanted}
        ) as hits`;
  });
  // Below the newest of the places where a stream was left, there may be events of it that were not seen.
  const edge = row?.edge ?? null;
  return { hits: row?.hits ?? [], edge };
}

/** The block in which a stream was left has to be looked at again, and nothing is known of a part of what has no order. */
function leftInBlocks(sql: postgres.Sql) {
  return sql`case when stream = ${wholeStream}::int then 'z' else left(min(event_id), ${
    blockDigits(sql)
  }) || 'g' end`;
}
