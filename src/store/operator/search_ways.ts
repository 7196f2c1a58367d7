/**
 * The ways to walk through events that the indexes of `sql/0015_search.sql` offer, newest first.
 *
 * @module
 */

import type { Flag } from "../../contract/fields.ts";
import {
  type FilterName,
  type Filters,
  type Fragment,
  hasFlag,
  nameStarts,
  spellings,
  type Sql,
  startsWith,
} from "./search_filter.ts";

/** Ids from one up to another, which is left out. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/**
 * One way: an index, or several parts of one (*streams*).
 *
 * A stream goes from new to old, event by event or, for a way of blocks, block by block: the events of a block come in
 * any order. A block is what was accepted within 19 hours.
 */
export interface Way {
  readonly serves: FilterName | null;
  /** How many there are. */
  readonly streams: number;
  readonly isOfBlocks: boolean;
  /** Its rows have the members of `event` that the filters look at, and need no look at the table. */
  readonly hasEvent: boolean;
  /** `stream` and `event_id` of at most so many entries of each stream. */
  entries(sql: Sql, bounds: { readonly span: Span; readonly perStream: number }): Fragment;
}

const within = (sql: Sql, { from, to }: Span) => sql`e.event_id >= ${from} and e.event_id < ${to}`;
const newest = (sql: Sql, perStream: number) => sql`order by e.event_id desc limit ${perStream}`;

/** The ways that the filters leave open, the best ones first as far as that can be said beforehand. */
export function waysOf(filters: Filters, keysMax: number): readonly Way[] {
  const { phones, emails, lastName, state, flag, keyIds, tenantId } = filters;
  const ways: Way[] = [];
  if (phones.length > 0) ways.push(contactWay("phones", phones));
  if (emails.length > 0) ways.push(contactWay("emails", emails.map((email) => email.toLowerCase())));
  if (state === "held" || state === "dead") ways.push(stateWay(state, tenantId));
  if (lastName !== null) ways.push(lastNameWay(lastName));
  if (state === "pending" || state === "sending") ways.push(stateWay(state, tenantId));
  if (flag !== null) ways.push(flagWay(flag));
  if (keyIds !== null && keyIds.length <= keysMax) ways.push(keyWay(keyIds));
  // All events are never better than the others, unless the span may be short.
  return filters.since !== null || ways.length === 0 ? [...ways, eventWay] : ways;
}

/** All events. */
export const eventWay: Way = {
  serves: null,
  streams: 1,
  isOfBlocks: false,
  hasEvent: true,
  entries: (sql, { span, perStream }) =>
    sql`select 0 as stream, e.* from event as e where ${within(sql, span)} ${newest(sql, perStream)}`,
};

/**
 * Events by their keys. Compared and sorted as rows of the index `event_key`: asked for `key_id = …` in the order of the
 * ids, the planner may walk all events instead, and did so for seconds where a key had none of the newest.
 */
function keyWay(keyIds: readonly number[]): Way {
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

function flagWay(flag: Flag): Way {
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

/** A state that has a table of its own: it is small as long as nothing is wrong, and bounded here all the same. */
function stateWay(state: "pending" | "sending" | "held" | "dead", tenantId: number | null): Way {
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
          and ${stateIs(sql, state)}
        ${newest(sql, perStream)}`;
    },
  };
}

// Of a row e of the state's own table.
function stateIs(sql: Sql, state: "pending" | "sending" | "held" | "dead"): Fragment {
  switch (state) {
    case "held":
      return sql`e.verdict <> 'clean' and e.released_at is null`;
    case "dead":
      return sql`true`;
    // Few are being sent at a time: they are not told apart before they are held against the filter.
    case "pending":
    case "sending":
      return sql`true`;
  }
}

/** Exact phone numbers or addresses, of leads and of submissions. */
function contactWay(serves: "phones" | "emails", values: readonly string[]): Way {
  return blockWay(serves, (sql) => {
    const column = serves === "phones" ? sql`e.phone` : sql`e.email`;
    const member = serves === "phones" ? sql`(e.lead ->> 'phone')` : sql`(e.lead ->> 'email')`;
    const filed = values.map((value) => sql`${column} = ${value}`);
    return {
      ofLead: filed,
      ofUnfiledLead: sql`${member} = any (${[...values]})`,
      ofSubmission: filed,
      isSubmissionOrdered: true,
    };
  });
}

/** The start of a name. */
function lastNameWay(lastName: string): Way {
  return blockWay("lastName", (sql) => ({
    ofLead: spellings(lastName).map((start) => startsWith(sql, sql`e.last_name`, start)),
    ofUnfiledLead: nameStarts(sql, lastName),
    ofSubmission: [startsWith(sql, sql`e.last_name`, lastName.toLowerCase())],
    isSubmissionOrdered: false,
  }));
}

/** An event may match any of them. Those in lists are served by an index each. */
interface Conditions {
  /** Of a row e of `lead_contact`. */
  readonly ofLead: readonly Fragment[];
  /** Of an event e whose lead is not in `lead_contact` yet. */
  readonly ofUnfiledLead: Fragment;
  readonly ofSubmission: readonly Fragment[];
  /** What the index finds for one is in the order of time. */
  readonly isSubmissionOrdered: boolean;
}

/** The stream of submissions in no order: it has to be had whole. */
export const wholeStream = -1;

/** The stream of leads that were accepted a moment ago. */
const unfiledStream = -2;

/**
 * Leads by whom they name, block by block: the indexes begin with the block, so that few pages of each are written
 * to and not all over them. The submissions' indexes do not; each condition is a stream of its own. What was accepted a
 * moment ago is not filed yet, and is looked through.
 */
function blockWay(serves: FilterName, conditions: (sql: Sql) => Conditions): Way {
  return {
    serves,
    streams: 1,
    isOfBlocks: true,
    hasEvent: false,
    entries(sql, { span, perStream }) {
      const { ofLead, ofUnfiledLead, ofSubmission, isSubmissionOrdered } = conditions(sql);
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
      // The nested loops go through the blocks as they are listed until the limit ends it, and from batch to batch: `offset 0`
      // keeps the planner from reading all events instead.
      return sql`
        (select 0 as stream, e.event_id from unnest(${blocksOf(span)}::text[]) as b (block)
         cross join lateral (${leads}) as e limit ${perStream})
        union all
        (select ${unfiledStream}::int as stream, e.event_id
         from lead_contact_todo as t
         cross join lateral (
           select e.event_id from event as e
           where e.event_id >= t.id_start and e.event_id < t.id_start || 'g'
             and e.kind = 'lead' and ${ofUnfiledLead} and ${within(sql, span)}
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

/** How much of an id the events of a block have in common: its time without the last nine hex digits of it, 19 hours. */
const blockLength = 5;
/** The same in the text of a statement, as the indexes have it. */
export const blockDigits = (sql: Sql) => sql.unsafe(String(blockLength)) as unknown as Fragment;

/** The blocks that a span touches, the newest first. */
function blocksOf({ from, to }: Span): string[] {
  const number = (id: string) => Number.parseInt(id.slice(0, blockLength).padEnd(blockLength, "0"), 16);
  const first = number(from);
  const last = number(to);
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (last - index).toString(16).padStart(blockLength, "0"),
  );
}
