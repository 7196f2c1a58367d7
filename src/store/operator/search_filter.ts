/**
 * What may be asked for in a search, and what an event is held against for it, in the words of the indexes of
 * `sql/0015_search.sql`, or they would not serve.
 *
 * @module
 */

import type postgres from "postgres";
import type { Flag } from "../../contract/fields.ts";
import type { DeliveryState } from "./deliveries.ts";

/** The tag of a statement. */
export type Sql = postgres.Sql;
/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** What may be asked for; `null` where anything will do. */
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
  /** Any of these, exactly as they are stored; empty: any. */
  readonly phones: readonly string[];
  /** Any of these, in any case; empty: any. */
  readonly emails: readonly string[];
  /** How the last name begins, in any case. */
  readonly lastName: string | null;
}

/** A filter that has been made ready. */
export interface Filters extends SearchFilter {
  readonly tenantId: number | null;
  /** The keys of tenant, source and kind together; `null`: any. */
  readonly keyIds: readonly number[] | null;
}

/** A filter, by the name of what it looks at. */
export type FilterName = "keys" | "flag" | "phones" | "emails" | "lastName" | "state";

/** A partial index serves what has its predicate word for word, not a parameter. The names are our own. */
export const hasFlag = (sql: Sql, flag: Flag) => sql.unsafe(`e.flags @> '{${flag}}'`) as unknown as Fragment;

/** Nothing that begins with a text sorts behind it and the last character there is. */
export const startsWith = (sql: Sql, name: Fragment, start: string) =>
  sql`${name} >= ${start} and ${name} < ${`${start}\u{10FFFF}`}`;

/**
 * How a name may be stored once ASCII is in lower case, which is all that an index can do in the same way on every
 * server: `Émile`, `émile` and `ÉMILE` are looked for as written in each of these ways.
 */
export function spellings(lastName: string): string[] {
  const lower = lastName.toLowerCase();
  const [first = "", ...rest] = lower;
  const title = first.toUpperCase() + rest.join("");
  const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Set([lower, title, lastName, lower.toUpperCase()].map(ascii))];
}

/** Whether the last name of the lead of an event e begins so, as in `lead_contact.last_name`. */
export function nameStarts(sql: Sql, lastName: string): Fragment {
  const name = sql`lower((e.lead ->> 'last_name') collate "C")`;
  const [first, ...others] = spellings(lastName).map((start) => startsWith(sql, name, start));
  return sql`(${others.reduce((any, one) => sql`${any} or ${one}`, first as Fragment)})`;
}

/** What an event e has to be besides what its way sees to (`served`); `null`: nothing. */
export function matches(sql: Sql, filters: Filters, served: FilterName | null): Fragment | null {
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
  // Also on the way of its own table: a row may be pending or being sent.
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

// As src/store/operator/deliveries.ts tells the states apart. With `offset 0` each look is a look at one row: without it
// the planner may read the whole other table once, however long it has grown in an outage.
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
