/**
 * The operator's search on a filled store, question by question.
 *
 * @module
 */

import { searchEvents, searchSettings } from "../../../src/store/operator/search.ts";
import type { SearchFilter } from "../../../src/store/operator/search_filter.ts";
import { Pool } from "../../../src/store/pool.ts";
import { Primary } from "../../../src/store/primary.ts";
import type { Database } from "../stage.ts";

/** Whom a stored lead names, and whose it is. */
interface Contact {
  readonly tenant: string;
  readonly source: string;
  readonly phone: string;
  readonly email: string;
  readonly lastName: string;
}

const any: SearchFilter = {
  ...{ tenant: null, source: null, kind: null, flag: null, state: null },
  ...{ since: null, until: null, phones: [], emails: [], lastName: null },
};

/** What is asked for, in the words of the documents. */
const questions: Readonly<Record<string, (contact: Contact) => SearchFilter>> = {
  "the newest": () => any,
  "a customer's of one source": ({ tenant, source }) => ({ ...any, tenant, source }),
  "a phone number": ({ phone }) => ({ ...any, phones: [phone] }),
  "an address": ({ email }) => ({ ...any, emails: [email] }),
  "an address that nobody has": ({ email }) => ({ ...any, emails: [`not.${email}`] }),
  "the start of a name": ({ lastName }) => ({ ...any, lastName: lastName.slice(0, 3) }),
  "delivered, and two letters of a name": ({ lastName }) => ({
    ...{ ...any, state: "delivered" },
    lastName: lastName.slice(0, 2),
  }),
};

const pageEvents = 50;
/** Each with the values of another lead. */
const timesAsked = 20;

/** How long a page of 50 takes in milliseconds. */
export interface SearchTimes {
  readonly median: number;
  readonly slowest: number;
}

/** Asks each question nineteen times of a store that nobody else uses, after a first time that is not counted. */
export async function searchTimes({ url, sql }: Database): Promise<ReadonlyMap<string, SearchTimes>> {
  const contacts = await sql<Contact[]>`
    select t.slug as tenant, k.label as source, l.phone, l.email, l.last_name as "lastName"
    from (select * from event order by event_id limit ${timesAsked}) as e
    join tenant as t on t.id = e.tenant_id
    join api_key as k on k.id = e.key_id
    cross join lateral json_to_record(e.lead) as l (phone text, email text, last_name text)`;
  const pool = new Pool({
    ...{ primary: new Primary(url), name: "bench", connectionsMax: 1, statementTimeoutMs: 30_000 },
    settings: searchSettings,
  });
  const found = new Map<string, SearchTimes>();
  try {
    for (const [question, filterOf] of Object.entries(questions)) {
      const [first, ...others] = contacts.map(filterOf) as [SearchFilter, ...SearchFilter[]];
      await searchEvents(pool, first, { before: null, limit: pageEvents });
      const times: number[] = [];
      for (const filter of others) {
        const startedMs = performance.now();
        await searchEvents(pool, filter, { before: null, limit: pageEvents });
        times.push(performance.now() - startedMs);
      }
      times.sort((a, b) => a - b);
      const at = (index: number) => times[index] as number;
      found.set(question, { median: at(times.length >> 1), slowest: at(times.length - 1) });
    }
  } finally {
    await pool.close();
  }
  return found;
}
