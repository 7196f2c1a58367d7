import assert from "node:assert/strict";
import { before, test } from "node:test";
import { eventIdAt } from "../../../src/contract/event_id.ts";
import { flagNames } from "../../../src/contract/fields.ts";
import { searchEvents, type SearchFilter } from "../../../src/store/operator/search.ts";
import { SearchTimeout } from "../../../src/store/operator/search_entry.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const stored = 20_000;
const newestAt = Date.parse("2026-10-26T15:33:20Z");

/** Matches every event. */
const anyEvent: SearchFilter = {
  tenant: null,
  source: null,
  kind: null,
  flag: null,
  state: null,
  since: null,
  until: null,
  phone: null,
  emails: [],
  lastName: null,
};

const { databaseUrl, sql: admin } = await openStore();
const pool = openPool(databaseUrl);

/**
 * Stores the events of 40 days. Tenant `big` has two sources with nearly everything, `small` one event in
 * 500, and `forms` every tenth as a submission. Some numbers and names are common, others rare.
 */
before(async () => {
  await admin`insert into tenant (slug, name) values ('big', 'Big'), ('small', 'Small'), ('silent', 'Silent')`;
  await admin`
    insert into api_key (tenant_id, surface, label, digest, last4)
    select t.id, k.surface, k.label, decode(md5(t.slug || k.label) || md5(k.label), 'hex'), 'abcd'
    from (values ('big', 'intake', 'web'), ('big', 'intake', 'phone'), ('small', 'intake', 'web'),
      ('big', 'forms', 'site'), ('silent', 'intake', 'none')) as k (slug, surface, label)
    join tenant as t on t.slug = k.slug
    order by k.slug, k.label`;
  await admin`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select
      event_id_at(g.at) || left(md5(g.n::text), 24),
      case k.surface when 'forms' then 'form' else 'lead' end, k.tenant_id, k.id, g.at, 'k',
      case when g.n % 1000 = 3 then '{phone_unnormalized}' when g.n % 3 = 0 then '{extra_fields_preserved}'
        else '{}' end::text[],
      json_build_object(
        'last_name', case when g.n % 4 = 0 then 'Common' when g.n % 997 = 1 then 'Émile' else 'N' || md5(g.n::text) end,
        'phone', case when g.n % 2 = 0 then '+15550000000' else '+1555' || lpad((g.n % 997)::text, 7, '0') end,
        'email', case when g.n % 5 <> 0 then 'user' || g.n % 5000 || '@example.com' end
      )
    from (
      select n, ${new Date(newestAt)}::timestamptz - make_interval(secs => (${stored}::int - n) * 172.8) as at
      from generate_series(1, ${stored}::int) as n
    ) as g
    join api_key as k on k.label = case when g.n % 500 = 7 then 'web' when g.n % 10 = 0 then 'site'
        when g.n % 2 = 0 then 'web' else 'phone' end
      and k.tenant_id = (select id from tenant where slug = case when g.n % 500 = 7 then 'small' else 'big' end)`;
  await admin`
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, name)
    select event_id, tenant_id, 1, case when left(md5(event_id), 2) = 'ab' then 'spam' else 'clean' end, 0, '{}',
      lead ->> 'phone', lead ->> 'email', translate(lower(lead ->> 'last_name'), 'É', 'é') || E'\tada'
    from event where kind = 'form'`;
  await admin`
    insert into outbox (event_id, tenant_id, due_at, lease, lease_until)
    select event_id, tenant_id, now(), case when left(md5(event_id), 1) = '0' then gen_random_uuid() end,
      case when left(md5(event_id), 1) = '0' then now() + interval '1 hour' end
    from event where kind = 'lead' order by event_id desc limit 300`;
  await admin`
    insert into dead_letter (event_id, tenant_id, died_at)
    select event_id, tenant_id, now() from event
    where kind = 'lead' and left(md5(event_id), 2) = 'bc' and event_id < (select min(event_id) from outbox)`;
  // The first search indexes the newest events.
  await admin`insert into search_todo select event_id_at(event_id_time(event_id)) from event`;
  await admin`select fill_search_entry(${stored - 100})`;
  await admin`vacuum analyze`;
});

/** Searches page by page; returns all events found and the number of pages. */
async function search(filter: Partial<SearchFilter>, limit: number, pagesMax = 100) {
  const found: string[] = [];
  let before: string | null = null;
  let pages = 0;
  do {
    const page = await searchEvents(pool, { ...anyEvent, ...filter }, { before, limit });
    assert.ok(page.eventIds.length <= limit);
    found.push(...page.eventIds);
    before = page.before;
    pages += 1;
  } while (before !== null && pages < pagesMax);
  return { found, pages, isWhole: before === null };
}

/** An event as the filters see it. */
interface Row {
  readonly id: string;
  readonly at: Date;
  readonly tenant: string;
  readonly source: string;
  readonly kind: string;
  readonly flags: readonly string[];
  readonly state: string;
  readonly phone: string;
  readonly email: string | null;
  readonly name: string;
}

let rows: readonly Row[] | undefined;

/** Returns all events, newest first. */
async function allRows(): Promise<readonly Row[]> {
  rows ??= await admin<Row[]>`
    select e.event_id as id, e.received_at as at, t.slug as tenant, k.label as source, e.kind, e.flags,
      e.lead ->> 'phone' as phone, e.lead ->> 'email' as email, e.lead ->> 'last_name' as name,
      case when d.event_id is not null then 'dead' when s.event_id is not null then 'held'
        when o.event_id is null then 'delivered' when o.lease_until > now() then 'sending'
        else 'pending' end as state
    from event as e
    join tenant as t on t.id = e.tenant_id join api_key as k on k.id = e.key_id
    left join submission as s on s.event_id = e.event_id and s.verdict <> 'clean' and s.released_at is null
    left join outbox as o on o.event_id = e.event_id
    left join dead_letter as d on d.event_id = e.event_id
    order by e.event_id desc`;
  return rows;
}

/** Returns the same result by a full scan. */
async function everything(question: Partial<SearchFilter>): Promise<string[]> {
  const filter = { ...anyEvent, ...question };
  const name = filter.lastName?.toLowerCase();
  return (await allRows()).filter((row) =>
    (filter.tenant === null || row.tenant === filter.tenant) &&
    (filter.source === null || row.source === filter.source) &&
    (filter.kind === null || row.kind === filter.kind) &&
    (filter.flag === null || row.flags.includes(filter.flag)) &&
    (filter.state === null || row.state === filter.state) &&
    (filter.since === null || row.at >= new Date(filter.since)) &&
    (filter.until === null || row.at < new Date(filter.until)) &&
    (filter.phone === null || row.phone === filter.phone) &&
    (filter.emails.length === 0 || filter.emails.some((email) => row.email === email)) &&
    (name === undefined || row.name.toLowerCase().startsWith(name))
  ).map(({ id }) => id);
}

const choices: { readonly [name in keyof SearchFilter]: readonly SearchFilter[name][] } = {
  tenant: ["big", "small", "silent", "nobody"],
  source: ["web", "site", "phone"],
  kind: ["lead", "form"],
  flag: ["phone_unnormalized", "extra_fields_preserved", "country_unrecognized"],
  state: ["pending", "sending", "delivered", "dead", "held"],
  since: [
    new Date(newestAt - 86_400_000).toISOString(),
    new Date(newestAt - 20 * 86_400_000).toISOString(),
  ],
  until: [
    new Date(newestAt - 3_600_000).toISOString(),
    new Date(newestAt - 30 * 86_400_000).toISOString(),
  ],
  phone: ["+15550000000", "+15550000123", "nobody"],
  emails: [["user77@example.com"], ["user78@example.com", "user79@example.com"], ["nobody@example.com"]],
  lastName: ["common", "émile", "ÉMILE", "Émi", "n", "NC4CA4", "nobody", "Common x"],
};

/** Returns every filter on its own, then fixed pairs and triples of them. */
function questions(): Partial<SearchFilter>[] {
  const names = Object.keys(choices) as (keyof SearchFilter)[];
  const alone = names.flatMap((name) => choices[name].map((value) => ({ [name]: value })));
  const together = Array.from({ length: 60 }, (_, index) => {
    const picked = [
      names[index % names.length],
      names[(index * 3 + 1) % names.length],
      names[(index * 7 + 2) % 10],
    ];
    return Object.fromEntries(
      picked.slice(0, 2 + index % 2).map((name) => {
        const values = choices[name as keyof SearchFilter];
        return [name, values[(index * 5) % values.length]];
      }),
    );
  });
  return [{}, ...alone, ...together];
}

/** Returns the first differences of two lists. */
function difference(found: readonly string[], expected: readonly string[]): string[] {
  const lengths = found.length === expected.length ? [] : [`${found.length} are found of ${expected.length}`];
  const [ours, theirs] = [new Set(found), new Set(expected)];
  const missing = [...theirs.difference(ours)].slice(0, 3).map((id) => `${id} is missing`);
  const wrong = [...ours.difference(theirs)].slice(0, 3).map((id) => `${id} is too much`);
  const at = found.findIndex((id, index) => id !== expected[index]);
  return [...lengths, ...missing, ...wrong, ...(at < 0 ? [] : [`the order differs at ${at}`])];
}

test("every flag has an index and no other flag does", async () => {
  const indexes = await admin<{ predicate: string }[]>`
    select pg_get_expr(indpred, indrelid) as predicate from pg_index
    where indrelid = 'event'::regclass and pg_get_expr(indpred, indrelid) like '%flags%'`;
  assert.deepEqual(
    indexes.map(({ predicate }) => predicate).sort(),
    flagNames.map((flag) => `(flags @> '{${flag}}'::text[])`).sort(),
  );
});

test("a search returns what a full scan returns, in the same order, for single and combined filters", async () => {
  for (const filter of questions()) {
    const all = await everything(filter);
    const { found, isWhole } = await search(filter, 500, 4);
    const expected = isWhole ? all : all.slice(0, found.length);
    assert.deepEqual(difference(found, expected), [], JSON.stringify(filter));
  }
});

test("a search that takes too long says so, and the pool stays usable", async () => {
  const settings = { lock_timeout: 0 };
  const impatient = openPool(databaseUrl, { statementTimeoutMs: 300, settings });
  const blocker = await admin.reserve();
  await blocker`begin`;
  await blocker`lock table dead_letter in access exclusive mode`;
  const searching = searchEvents(impatient, { ...anyEvent, state: "dead" }, { before: null, limit: 50 });
  await assert.rejects(searching, SearchTimeout);
  await blocker`commit`;
  blocker.release();
  const page = await searchEvents(impatient, { ...anyEvent, tenant: "small" }, { before: null, limit: 1 });
  assert.equal(page.eventIds.length, 1);
});

test("pages of any size neither overlap nor skip", async () => {
  const filter = { tenant: "small" };
  const all = await everything(filter);
  for (const limit of [1, 7, 500]) {
    assert.deepEqual((await search(filter, limit)).found, all);
  }
});

test("events that arrive between two pages are on neither", async () => {
  const first = await searchEvents(pool, { ...anyEvent, tenant: "small" }, { before: null, limit: 3 });
  const id = `${eventIdAt(Date.now())}0001${"f".repeat(20)}`;
  await admin`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags)
    select ${id}, 'lead', tenant_id, key_id, now(), 'k', '{}' from event where event_id = ${first
    .eventIds[0] as string}`;
  const second = await searchEvents(pool, { ...anyEvent, tenant: "small" }, {
    before: first.before,
    limit: 500,
  });
  assert.ok(!second.eventIds.includes(id));
  const again = await searchEvents(pool, { ...anyEvent, tenant: "small" }, { before: null, limit: 1 });
  assert.deepEqual(again.eventIds, [id]);
  await admin`delete from event where event_id = ${id}`;
});
