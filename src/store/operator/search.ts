/**
 * The operator's search over all events, newest first. Each search examines a bounded number of index entries, so
 * that it takes milliseconds, and may return less than asked for and a position to continue.
 *
 * Each filter that an index serves is an {@linkcode AccessPath}. Bounded counts find the path with the fewest
 * entries; the search scans it from the newest end in rounds and checks every event against the other filters.
 */

import type postgres from "postgres";
import { eventIdAt } from "../../contract/event_id.ts";
import type { Flag } from "../../contract/fields.ts";
import type { DeliveryState } from "./events.ts";
import type { Pool } from "../pool.ts";

type Sql = postgres.Sql;
type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** `null` does not filter. */
export interface SearchFilter {
  /** A tenant's slug. */
  readonly tenant: string | null;
  /** A key's label. */
  readonly source: string | null;
  readonly kind: "lead" | "form" | null;
  readonly flag: Flag | null;
  readonly state: DeliveryState | null;
  /** Received at this time or later; ISO 8601, UTC. */
  readonly since: string | null;
  /** Received before this time. */
  readonly until: string | null;
  /** Any of these, exactly as stored; empty: any. */
  readonly phones: readonly string[];
  /** Any of these, in any case; empty: any. */
  readonly emails: readonly string[];
  /** A prefix of the last name, in any case. */
  readonly lastName: string | null;
}

/** A filter with names resolved to ids. */
interface Filters extends SearchFilter {
  readonly tenantId: number | null;
  /** The keys of tenant, source and kind together; `null`: any. */
  readonly keyIds: readonly number[] | null;
}

type FilterName = "keys" | "flag" | "phones" | "emails" | "lastName" | "state";

/** A literal, because a partial index needs its predicate verbatim. Flags are our own names. */
const hasFlag = (sql: Sql, flag: Flag) => sql.unsafe(`e.flags @> '{${flag}}'`) as unknown as Fragment;

/** U+10FFFF sorts after every text with the prefix. */
const startsWith = (sql: Sql, name: Fragment, start: string) =>
  sql`${name} >= ${start} and ${name} < ${`${start}\u{10FFFF}`}`;

/** The spellings of a name in an index, which lower-cases only ASCII: `émile`, `Émile`, `ÉMILE`. */
function spellings(lastName: string): string[] {
  const lower = lastName.toLowerCase();
  const [first = "", ...rest] = lower;
  const title = first.toUpperCase() + rest.join("");
  const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Set([lower, title, lastName, lower.toUpperCase()].map(ascii))];
}

/** Whether the last name of event e's lead starts so, as in `lead_contact.last_name`. */
function nameStarts(sql: Sql, lastName: string): Fragment {
  const name = sql`lower((e.lead ->> 'last_name') collate "C")`;
  const [first, ...others] = spellings(lastName).map((start) => startsWith(sql, name, start));
  return sql`(${others.reduce((any, one) => sql`${any} or ${one}`, first as Fragment)})`;
}

/** The conditions on event e beyond the one that the path serves; `null`: none. */
function matches(sql: Sql, filters: Filters, served: FilterName | null): Fragment | null {
  const wanted: Fragment[] = [];
  const want = (name: FilterName, condition: () => Fragment) => {
    if (served !== name) wanted.push(condition());
  };
  const { keyIds, flag, phones, lastName, state } = filters;
  if (keyIds !== null) want("keys", () => sql`e.key_id = any (${[...keyIds]}::int[])`);
  if (flag !== null) want("flag", () => hasFlag(sql, flag));
  if (phones.length > 0) {
    want(
      "phones",
      () =>
        ofPerson(sql, sql`(e.lead ->> 'phone') = any (${[...phones]})`, sql`s.phone = any (${[...phones]})`),
    );
  }
  const emails = filters.emails.map((email) => email.toLowerCase());
  if (emails.length > 0) {
    want(
      "emails",
      () => ofPerson(sql, sql`(e.lead ->> 'email') = any (${emails})`, sql`s.email = any (${emails})`),
    );
  }
  if (lastName !== null) {
    const start = lastName.toLowerCase();
    want(
      "lastName",
      () => ofPerson(sql, nameStarts(sql, lastName), startsWith(sql, sql`s.last_name`, start)),
    );
  }
  // Even if the path serves it: an outbox row may be pending or sending.
  if (state !== null) wanted.push(inState(sql, state));
  const [first, ...others] = wanted;
  return first === undefined ? null : others.reduce((all, one) => sql`${all} and ${one}`, first);
}

function ofPerson(sql: Sql, ofLead: Fragment, ofSubmission: Fragment): Fragment {
  return sql`case e.kind
    when 'lead' then ${ofLead}
    else exists (select from submission as s where s.event_id = e.event_id and ${ofSubmission} offset 0)
  end`;
}

// The states as in events.ts. `offset 0` keeps each check a lookup of one row; the planner might read a whole table
// that has grown in an outage.
function inState(sql: Sql, state: DeliveryState): Fragment {
  const outbox = (condition: Fragment) =>
    sql`exists (select from outbox as o where o.event_id = e.event_id and ${condition} offset 0)`;
  const isSending = sql`o.lease_until > service_clock()`;
  const dead = sql`exists (select from dead_letter as d where d.event_id = e.event_id offset 0)`;
  const held = sql`(e.kind = 'form' and exists (
    select from submission as s
    where s.event_id = e.event_id and s.verdict <> 'clean' and s.released_at is null
    offset 0))`;
  const erased = sql`(e.removed_at is not null and not exists (
    select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered' offset 0))`;
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
    case "delivered":
      return sql`(not ${waits} and not ${dead} and not ${held} and not ${erased})`;
  }
}

/** Ids from `from` up to, but without, `to`. */
interface Span {
  readonly from: string;
  readonly to: string;
}

/**
 * An index, or parts of one (*streams*), to scan.
 *
 * A stream runs from new to old by event, or by block if `isOfBlocks`, in any order within a block: the events of 19
 * hours.
 */
interface AccessPath {
  readonly serves: FilterName | null;
  readonly streams: number;
  readonly isOfBlocks: boolean;
  /** Its rows have the members of `event` that the filters check. */
  readonly hasEvent: boolean;
  /** `stream` and `event_id` of at most `perStream` entries of each stream. */
  entries(sql: Sql, bounds: { readonly span: Span; readonly perStream: number }): Fragment;
}

const within = (sql: Sql, { from, to }: Span) => sql`e.event_id >= ${from} and e.event_id < ${to}`;
const newest = (sql: Sql, perStream: number) => sql`order by e.event_id desc limit ${perStream}`;

/** The usable paths, presumably best first. */
function accessPaths(filters: Filters, keysMax: number): readonly AccessPath[] {
  const { phones, emails, lastName, state, flag, keyIds, tenantId } = filters;
  const paths: AccessPath[] = [];
  if (phones.length > 0) paths.push(contactPath("phones", phones));
  if (emails.length > 0) paths.push(contactPath("emails", emails.map((email) => email.toLowerCase())));
  if (state === "held" || state === "dead") paths.push(statePath(state, tenantId));
  if (lastName !== null) paths.push(lastNamePath(lastName));
  if (state === "pending" || state === "sending") paths.push(statePath(state, tenantId));
  if (flag !== null) paths.push(flagPath(flag));
  if (keyIds !== null && keyIds.length <= keysMax) paths.push(keyPath(keyIds));
  // The path over all events is never better, unless the span may be short.
  return filters.since !== null || paths.length === 0 ? [...paths, eventPath] : paths;
}

const eventPath: AccessPath = {
  serves: null,
  streams: 1,
  isOfBlocks: false,
  hasEvent: true,
  entries: (sql, { span, perStream }) =>
    sql`select 0 as stream, e.* from event as e where ${within(sql, span)} ${newest(sql, perStream)}`,
};

/** Events by key, compared and sorted as rows of `event_key`: with `key_id = …` the planner may scan all events. */
function keyPath(keyIds: readonly number[]): AccessPath {
  return {
    serves: "keys",
    streams: keyIds.length,
    isOfBlocks: false,
    hasEvent: true,
    entries: (sql, { span, perStream }) =>
      sql`
        select k.id as stream, e.*
        from unnest(${[...keyIds]}::int[]) as k (id)
        cross join lateral (
          select * from event as e
          where (e.key_id, e.event_id) >= (k.id, ${span.from}) and (e.key_id, e.event_id) < (k.id, ${span.to})
          order by e.key_id desc, e.event_id desc limit ${perStream}
        ) as e`,
  };
}

function flagPath(flag: Flag): AccessPath {
  return {
    serves: "flag",
    streams: 1,
    isOfBlocks: false,
    hasEvent: true,
    entries: (sql, { span, perStream }) =>
      sql`
        select 0 as stream, e.* from event as e where ${hasFlag(sql, flag)} and ${within(sql, span)}
        ${newest(sql, perStream)}`,
  };
}

/** A state with its own table, which is small unless something is wrong. */
function statePath(state: "pending" | "sending" | "held" | "dead", tenantId: number | null): AccessPath {
  const isOfTenant = tenantId !== null && state !== "pending" && state !== "sending";
  return {
    serves: "state",
    streams: 1,
    isOfBlocks: false,
    hasEvent: false,
    entries(sql, { span, perStream }) {
      const table = state === "dead" ? sql`dead_letter` : state === "held" ? sql`submission` : sql`outbox`;
      return sql`
        select 0 as stream, e.event_id from ${table} as e
        where ${within(sql, span)} ${isOfTenant ? sql`and e.tenant_id = ${tenantId}` : sql``}
          ${state === "held" ? sql`and e.verdict <> 'clean' and e.released_at is null` : sql``}
        ${newest(sql, perStream)}`;
    },
  };
}

/** Exact phone numbers or addresses of leads and submissions. */
function contactPath(serves: "phones" | "emails", values: readonly string[]): AccessPath {
  return blockPath(serves, (sql) => {
    const column = serves === "phones" ? sql`e.phone` : sql`e.email`;
    const member = serves === "phones" ? sql`(e.lead ->> 'phone')` : sql`(e.lead ->> 'email')`;
    const exact = values.map((value) => sql`${column} = ${value}`);
    return {
      ofLead: exact,
      ofUnindexedLead: sql`${member} = any (${[...values]})`,
      ofSubmission: exact,
      isSubmissionOrdered: true,
    };
  });
}

function lastNamePath(lastName: string): AccessPath {
  return blockPath("lastName", (sql) => ({
    ofLead: spellings(lastName).map((start) => startsWith(sql, sql`e.last_name`, start)),
    ofUnindexedLead: nameStarts(sql, lastName),
    ofSubmission: [startsWith(sql, sql`e.last_name`, lastName.toLowerCase())],
    isSubmissionOrdered: false,
  }));
}

/** Alternative conditions; an index serves each of those in lists. */
interface Conditions {
  /** On row e of `lead_contact`. */
  readonly ofLead: readonly Fragment[];
  /** On an event e whose lead is not in `lead_contact` yet. */
  readonly ofUnindexedLead: Fragment;
  readonly ofSubmission: readonly Fragment[];
  /** The index returns the entries of one condition in order of time. */
  readonly isSubmissionOrdered: boolean;
}

/** The stream of submissions without order, usable only if complete. */
const wholeStream = -1;

/** The stream of leads accepted a moment ago. */
const unindexedStream = -2;

/**
 * Leads by contact, block by block: the indexes start with the block, so that inserts touch few pages. Submissions'
 * indexes do not; each condition is a stream. Leads not indexed yet are scanned.
 */
function blockPath(serves: FilterName, conditions: (sql: Sql) => Conditions): AccessPath {
  return {
    serves,
    streams: 1,
    isOfBlocks: true,
    hasEvent: false,
    entries(sql, { span, perStream }) {
      const { ofLead, ofUnindexedLead, ofSubmission, isSubmissionOrdered } = conditions(sql);
      const leads = all(
        sql,
        ofLead.map((condition) =>
          sql`(select e.event_id from lead_contact as e
          where left(e.event_id, ${blockDigits(sql)}) = b.block and ${condition} and ${within(sql, span)}
          limit ${perStream})`
        ),
      );
      const submissions = all(
        sql,
        ofSubmission.map((condition, index) =>
          sql`(select ${
            isSubmissionOrdered ? index + 1 : wholeStream
          }::int as stream, e.event_id from submission as e
          where ${condition} and ${within(sql, span)}
          ${isSubmissionOrdered ? newest(sql, perStream) : sql`limit ${perStream}`})`
        ),
      );
      // Nested loops go through the blocks in order until the limit; `offset 0` keeps the planner from reading all
      // events.
      return sql`
        (select 0 as stream, e.event_id from unnest(${blocksOf(span)}::text[]) as b (block)
         cross join lateral (${leads}) as e limit ${perStream})
        union all
        (select ${unindexedStream}::int as stream, e.event_id
         from lead_contact_todo as t
         cross join lateral (
           select e.event_id from event as e
           where e.event_id >= t.id_start and e.event_id < t.id_start || 'g'
             and e.kind = 'lead' and ${ofUnindexedLead} and ${within(sql, span)}
           offset 0
         ) as e
         ${newest(sql, perStream)})
        union all
        ${submissions}`;
    },
  };
}

const all = (sql: Sql, parts: readonly Fragment[]): Fragment =>
  parts.slice(1).reduce((whole, part) => sql`${whole} union all ${part}`, parts[0] as Fragment);

/** The id prefix shared by the events of a block: the time without its last nine hex digits, 19 hours. */
const blockLength = 5;
/** As a literal, as in the indexes. */
const blockDigits = (sql: Sql) => sql.unsafe(String(blockLength)) as unknown as Fragment;

/** The blocks that a span touches, newest first. */
function blocksOf({ from, to }: Span): string[] {
  const number = (id: string) => Number.parseInt(id.slice(0, blockLength).padEnd(blockLength, "0"), 16);
  const first = number(from);
  const last = number(to);
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (last - index).toString(16).padStart(blockLength, "0"),
  );
}

interface Found {
  /** At most as many as asked for, newest first. */
  readonly eventIds: readonly string[];
  /** Continue before this id; `null` at the end. Even a short page may have one. */
  readonly before: string | null;
}

/** Uses indexes and plans each query anew: the best plan for one tenant or name is the worst for another. */
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
// Entries of a path that are counted to compare paths.
const countMax = 1_000;
// Entries per round: few when matches are everywhere; 5,000 in all take about 30 ms with table lookups (measured with
// 5 million events; 20,000 took 120 ms).
const roundEntries = [0, 1_000, 4_000];
const firstRoundMin = 200;
// With more keys, each stream would get too few entries.
const keysMax = 1_000;

/** Finds events; `page.before` is the previous page's `before`. */
export async function searchEvents(
  pool: Pool,
  filter: SearchFilter,
  page: { readonly before: string | null; readonly limit: number },
): Promise<Found> {
  const resolved = await resolve(pool, filter);
  if (resolved === null) return { eventIds: [], before: null };
  const { filters, stored } = resolved;
  let span = spanOf(filter, { stored, before: page.before });
  let path = await choosePath(pool, filters, span);
  const eventIds: string[] = [];
  for (const entries of roundEntries) {
    if (span.from >= span.to) return { eventIds, before: null };
    const wanted = page.limit + 1 - eventIds.length;
    const budget = entries === 0 ? Math.max(firstRoundMin, 2 * wanted) : entries;
    const { hits, edge } = await scan(pool, path, { span, filters, wanted, budget });
    eventIds.push(...hits);
    if (eventIds.length > page.limit) {
      const ids = eventIds.slice(0, page.limit);
      return { eventIds: ids, before: ids.at(-1) as string };
    }
    if (edge === null) return { eventIds, before: null };
    // A block has more entries than a round may examine, so matches are dense among all events.
    if (edge >= span.to) path = eventPath;
    else span = { from: span.from, to: edge };
  }
  return { eventIds, before: span.to };
}

/** Resolves tenant, source and kind to ids, and the span of all that is stored; `null` when nothing can match. */
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

/** The path with the fewest entries in the span; the first of those with too many to count. */
async function choosePath(pool: Pool, filters: Filters, span: Span): Promise<AccessPath> {
  const paths = accessPaths(filters, keysMax);
  if (paths.length === 1) return paths[0] as AccessPath;
  const [row] = await pool.run(deadlineMs, (sql) => {
    const count = (path: AccessPath) =>
      sql`(
        select count(*)::int
        from (select from (${path.entries(sql, { span, perStream: countMax })}) as e limit ${countMax}) as w
      )`;
    const counts = paths.slice(1).reduce(
      (list, path) => sql`${list}, ${count(path)}`,
      count(paths[0] as AccessPath),
    );
    return sql<{ counts: number[] }[]>`select array[${counts}] as counts`;
  });
  const counts = row?.counts ?? [];
  const counted = paths.map((path, index) => ({ path, count: counts[index] ?? countMax }));
  return counted.reduce((best, next) => next.count < best.count ? next : best).path;
}

/** One round: the newest matches among a path's next entries, and where it stopped; `null`: at the end. */
async function scan(
  pool: Pool,
  path: AccessPath,
  { span, filters, wanted, budget }: { span: Span; filters: Filters; wanted: number; budget: number },
): Promise<{ hits: string[]; edge: string | null }> {
  const perStream = Math.max(1, Math.floor(budget / path.streams));
  const [row] = await pool.run(deadlineMs, (sql: postgres.Sql) => {
    const entries = path.entries(sql, { span, perStream });
    const hit = matches(sql, filters, path.serves);
    const left = path.isOfBlocks ? leftInBlocks(sql) : sql`min(event_id)`;
    const rows = path.hasEvent || hit === null
      ? sql`(${entries}) as e`
      : sql`(${entries}) as w join event as e on e.event_id = w.event_id`;
    return sql<{ hits: string[]; edge: string | null }[]>`
      with scanned as materialized (
        select stream, e.event_id, ${hit ?? sql`true`} as hit from ${rows}
      ),
      edge as (
        select max(s.event_id) as event_id
        from (select ${left} as event_id from scanned group by stream having count(*) >= ${perStream}) as s
      )
      select
        (select event_id from edge) as edge,
        array(
          select distinct w.event_id from scanned as w
          where w.hit and w.event_id >= coalesce((select event_id from edge), '')
          order by w.event_id desc limit ${wanted}
        ) as hits`;
  });
  // Below the newest position at which a stream stopped, there may be entries not seen.
  const edge = row?.edge ?? null;
  return { hits: row?.hits ?? [], edge };
}

/** A block left in the middle must be scanned again; a partial unordered stream tells nothing. */
function leftInBlocks(sql: postgres.Sql) {
  return sql`case when stream = ${wholeStream}::int then 'z' else left(min(event_id), ${
    blockDigits(sql)
  }) || 'g' end`;
}
