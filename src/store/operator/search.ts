/**
 * Searches all events for operators, newest first. So that a search takes milliseconds, it examines a bounded number of
 * index entries; it may return fewer events than requested, with the position at which to continue.
 *
 * Each filter that an index serves has an {@linkcode AccessPath}. Bounded counts find the path with the fewest entries;
 * the search scans that path from the newest end in rounds and checks every event against the other filters.
 */

import type postgres from "postgres";
import { eventIdAt } from "../../contract/event_id.ts";
import type { Flag } from "../../contract/fields.ts";
import type { DeliveryState } from "./events.ts";
import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";

type Sql = postgres.Sql;
type Fragment = postgres.PendingQuery<postgres.Row[]>;

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
  /** Selects events with any of these numbers, exactly as stored; an empty list selects all. */
  readonly phones: readonly string[];
  /** Selects events with any of these addresses, in upper or lower case; an empty list selects all. */
  readonly emails: readonly string[];
  /** A prefix of the last name, in upper or lower case. */
  readonly lastName: string | null;
}

/** A filter with the names of tenant and source resolved to ids. */
interface Filters extends SearchFilter {
  readonly tenantId: number | null;
  /** The keys that match tenant, source and kind; `null` selects all. */
  readonly keyIds: readonly number[] | null;
}

type FilterName = "keys" | "flag" | "phones" | "emails" | "lastName" | "state";

/**
 * Returns a condition with the flag as a literal, because the planner uses a partial index only for its literal
 * predicate. Flags are constants, so they need no escaping.
 */
const hasFlag = (sql: Sql, flag: Flag) => sql.unsafe(`e.flags @> '{${flag}}'`) as unknown as Fragment;

// The prefix followed by U+10FFFF sorts after every text with the prefix.
const startsWith = (sql: Sql, name: Fragment, start: string) =>
  sql`${name} >= ${start} and ${name} < ${`${start}\u{10FFFF}`}`;

/** Returns the spellings that a name may have in an index that lower-cases only ASCII, such as `renée` and `renÉe`. */
function spellings(lastName: string): string[] {
  const lower = lastName.toLowerCase();
  const [first = "", ...rest] = lower;
  const title = first.toUpperCase() + rest.join("");
  const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Set([lower, title, lastName, lower.toUpperCase()].map(ascii))];
}

/** Returns the condition that the last name in event e's lead, converted as in `lead_contact`, has a prefix. */
function nameStarts(sql: Sql, lastName: string): Fragment {
  const name = sql`lower((e.lead ->> 'last_name') collate "C")`;
  const [first, ...others] = spellings(lastName).map((start) => startsWith(sql, name, start));
  return sql`(${others.reduce((any, one) => sql`${any} or ${one}`, first as Fragment)})`;
}

/** Returns the conditions on event e for the state and for the filters that the path does not serve; `null` for none. */
function matches(sql: Sql, filters: Filters, served: FilterName | null): Fragment | null {
  const conditions: Fragment[] = [];
  const add = (name: FilterName, condition: () => Fragment) => {
    if (served !== name) conditions.push(condition());
  };
  const { keyIds, flag, phones, lastName, state } = filters;
  if (keyIds !== null) add("keys", () => sql`e.key_id = any (${[...keyIds]}::int[])`);
  if (flag !== null) add("flag", () => hasFlag(sql, flag));
  if (phones.length > 0) {
    add(
      "phones",
      () =>
        ofPerson(sql, sql`(e.lead ->> 'phone') = any (${[...phones]})`, sql`s.phone = any (${[...phones]})`),
    );
  }
  const emails = filters.emails.map((email) => email.toLowerCase());
  if (emails.length > 0) {
    add(
      "emails",
      () => ofPerson(sql, sql`(e.lead ->> 'email') = any (${emails})`, sql`s.email = any (${emails})`),
    );
  }
  if (lastName !== null) {
    const start = lastName.toLowerCase();
    add(
      "lastName",
      () => ofPerson(sql, nameStarts(sql, lastName), startsWith(sql, sql`s.last_name`, start)),
    );
  }
  // Checked even if the path serves the state, because an outbox row may be pending or sending.
  if (state !== null) conditions.push(inState(sql, state));
  const [first, ...others] = conditions;
  return first === undefined ? null : others.reduce((all, one) => sql`${all} and ${one}`, first);
}

function ofPerson(sql: Sql, ofLead: Fragment, ofSubmission: Fragment): Fragment {
  return sql`case e.kind
    when 'lead' then ${ofLead}
    else exists (select from submission as s where s.event_id = e.event_id and ${ofSubmission} offset 0)
  end`;
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

/** Ids from `from` (inclusive) to `to` (exclusive). */
interface Span {
  readonly from: string;
  readonly to: string;
}

/**
 * An index to scan, as one or more *streams* of entries.
 *
 * A stream is sorted from new to old: by event or, with `isOfBlocks`, by block (the events of 19 hours), with the events
 * of a block in any order.
 */
interface AccessPath {
  readonly serves: FilterName | null;
  readonly streams: number;
  readonly isOfBlocks: boolean;
  /** Whether the rows from `entries` contain the columns of `event` that the filters check. */
  readonly hasEvent: boolean;
  /** Returns `stream` and `event_id` of at most `perStream` entries of each stream. */
  entries(sql: Sql, bounds: { readonly span: Span; readonly perStream: number }): Fragment;
}

const within = (sql: Sql, { from, to }: Span) => sql`e.event_id >= ${from} and e.event_id < ${to}`;
const newest = (sql: Sql, perStream: number) => sql`order by e.event_id desc limit ${perStream}`;

/** Returns the usable paths, those that are probably faster first. */
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
  // The path over all events is faster only if the span is short.
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

/** Scans events by key. Compares and sorts rows, because the planner may scan all events for `key_id = …`. */
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

/** Scans a state's own table, which is small unless something is wrong. */
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

/** Scans for the exact phone numbers or email addresses in leads and submissions. */
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

/** The conditions of a filter by contact. Those in a list are alternatives, each served by an index. */
interface Conditions {
  /** The conditions on row e of `lead_contact`. */
  readonly ofLead: readonly Fragment[];
  /** The condition on an event e whose lead is not in `lead_contact` yet. */
  readonly ofUnindexedLead: Fragment;
  readonly ofSubmission: readonly Fragment[];
  /** Whether the index returns the entries of one condition in order of time. */
  readonly isSubmissionOrdered: boolean;
}

/** The stream of submissions in no order, usable only if it is complete. */
const wholeStream = -1;

/** The stream of leads that are not indexed yet. */
const unindexedStream = -2;

/**
 * Scans leads by contact, block by block, because the leads' indexes start with the block. The submissions' indexes do
 * not; each condition on them is a stream. Leads that are not indexed yet are scanned directly.
 */
function blockPath(serves: FilterName, conditions: (sql: Sql) => Conditions): AccessPath {
  return {
    serves,
    streams: 1,
    isOfBlocks: true,
    hasEvent: false,
    entries(sql, { span, perStream }) {
      const { ofLead, ofUnindexedLead, ofSubmission, isSubmissionOrdered } = conditions(sql);
      const leads = unionAll(
        sql,
        ofLead.map((condition) =>
          sql`(select e.event_id from lead_contact as e
          where left(e.event_id, ${blockDigits(sql)}) = b.block and ${condition} and ${within(sql, span)}
          limit ${perStream})`
        ),
      );
      const submissions = unionAll(
        sql,
        ofSubmission.map((condition, index) =>
          sql`(select ${
            isSubmissionOrdered ? index + 1 : wholeStream
          }::int as stream, e.event_id from submission as e
          where ${condition} and ${within(sql, span)}
          ${isSubmissionOrdered ? newest(sql, perStream) : sql`limit ${perStream}`})`
        ),
      );
      // Nested loops read the blocks in order until the limit; `offset 0` keeps the planner from reading all events.
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

const unionAll = (sql: Sql, parts: readonly Fragment[]): Fragment =>
  parts.slice(1).reduce((whole, part) => sql`${whole} union all ${part}`, parts[0] as Fragment);

/** The length of the id prefix that the events of a block share: 5 of the time's 14 hex digits, which is 19 hours. */
const blockLength = 5;
/** Returns the length as a literal, because the indexed expressions contain it. */
const blockDigits = (sql: Sql) => sql.unsafe(String(blockLength)) as unknown as Fragment;

/** Returns the blocks that a span touches, newest first. */
function blocksOf({ from, to }: Span): string[] {
  const blockNumber = (id: string) => Number.parseInt(id.slice(0, blockLength).padEnd(blockLength, "0"), 16);
  const first = blockNumber(from);
  const last = blockNumber(to);
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (last - index).toString(16).padStart(blockLength, "0"),
  );
}

interface SearchPage {
  /** The events' ids, newest first. */
  readonly eventIds: readonly string[];
  /** The id before which to continue, `null` at the end. It may be set even if there are fewer events than requested. */
  readonly before: string | null;
}

// The maximum number of entries that are counted to compare paths.
const countMax = 1_000;
// The number of entries per round after the first. With table lookups, 5,000 in all take about 30 ms (measured with 5
// million events; 20,000 took 120 ms).
const laterRoundEntries = [1_000, 4_000];
const firstRoundMin = 200;
// With more keys, each stream would get too few entries.
const keysMax = 1_000;

/** Finds events; `page.before` is the previous page's `before`. */
export async function searchEvents(
  pool: Pool,
  filter: SearchFilter,
  page: { readonly before: string | null; readonly limit: number },
): Promise<SearchPage> {
  const resolved = await resolve(pool, filter);
  if (resolved === null) return { eventIds: [], before: null };
  const { filters, stored } = resolved;
  let span = searchSpan(filter, { stored, before: page.before });
  let path = await choosePath(pool, filters, span);
  const eventIds: string[] = [];
  for (const entriesMax of [Math.max(firstRoundMin, 2 * (page.limit + 1)), ...laterRoundEntries]) {
    if (span.from >= span.to) return { eventIds, before: null };
    const wanted = page.limit + 1 - eventIds.length;
    const { hits, edge } = await scan(pool, path, { span, filters, wanted, entriesMax });
    eventIds.push(...hits);
    if (eventIds.length > page.limit) {
      const ids = eventIds.slice(0, page.limit);
      return { eventIds: ids, before: ids.at(-1) as string };
    }
    if (edge === null) return { eventIds, before: null };
    // The round did not complete one block, so there are many entries, and a scan of all events finds matches soon.
    if (edge >= span.to) path = eventPath;
    else span = { from: span.from, to: edge };
  }
  return { eventIds, before: span.to };
}

/** Resolves the tenant, source and kind to ids, and reads the span of all events; returns `null` if nothing can match. */
async function resolve(
  pool: Pool,
  filter: SearchFilter,
): Promise<{ readonly filters: Filters; readonly stored: Span } | null> {
  const { tenant, source, kind } = filter;
  const isAnyKey = tenant === null && source === null && kind === null;
  const row = await queryOne(
    pool,
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
  if (row === null || row.oldest === null || (!isAnyKey && row.key_ids.length === 0)) return null;
  return {
    filters: { ...filter, tenantId: row.tenant_id, keyIds: isAnyKey ? null : row.key_ids },
    stored: { from: row.oldest, to: `${row.newest}g` },
  };
}

function searchSpan(
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

/** Chooses the path with the fewest entries in the span or, of paths with too many to count, the first. */
async function choosePath(pool: Pool, filters: Filters, span: Span): Promise<AccessPath> {
  const paths = accessPaths(filters, keysMax);
  if (paths.length === 1) return paths[0] as AccessPath;
  const row = await queryOne(pool, (sql) => {
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

/** Scans a path's next entries, and returns the newest matches and where the scan stopped (`null`: at the end). */
async function scan(
  pool: Pool,
  path: AccessPath,
  { span, filters, wanted, entriesMax }: { span: Span; filters: Filters; wanted: number; entriesMax: number },
): Promise<{ hits: string[]; edge: string | null }> {
  const perStream = Math.max(1, Math.floor(entriesMax / path.streams));
  const row = await queryOne(pool, (sql) => {
    const entries = path.entries(sql, { span, perStream });
    const hit = matches(sql, filters, path.serves);
    const stop = path.isOfBlocks ? stopInBlocks(sql) : sql`min(event_id)`;
    const rows = path.hasEvent || hit === null
      ? sql`(${entries}) as e`
      : sql`(${entries}) as w join event as e on e.event_id = w.event_id`;
    return sql<{ hits: string[]; edge: string | null }[]>`
      with scanned as materialized (
        select stream, e.event_id, ${hit ?? sql`true`} as hit from ${rows}
      ),
      edge as (
        select max(s.event_id) as event_id
        from (select ${stop} as event_id from scanned group by stream having count(*) >= ${perStream}) as s
      )
      select
        (select event_id from edge) as edge,
        array(
          select distinct w.event_id from scanned as w
          where w.hit and w.event_id >= coalesce((select event_id from edge), '')
          order by w.event_id desc limit ${wanted}
        ) as hits`;
  });
  // Entries older than the newest position at which a stream stopped may be missing.
  const edge = row?.edge ?? null;
  return { hits: row?.hits ?? [], edge };
}

/**
 * Returns where a stream stopped, so that a partly scanned block is scanned again: for an incomplete stream in no order,
 * a position newer than all events, because its entries are useless.
 */
function stopInBlocks(sql: postgres.Sql) {
  return sql`case when stream = ${wholeStream}::int then 'z' else left(min(event_id), ${
    blockDigits(sql)
  }) || 'g' end`;
}
