/** The cost of the report, counted in rows that the database reads. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import postgres from "postgres";
import { readReport } from "../../../src/store/operator/report.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { atEnd } from "../../support/at_end.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const keys = 400;
const events = 4_000;
const days = 7;

const { databaseUrl, sql: admin } = await openStore();

// Spread so that nearly every event is the only one of its key and hour; a fifth is still pending.
before(async () => {
  await admin`insert into tenant (slug, name) select 't' || n, 'T' from generate_series(1, 40) as n`;
  await admin`
    insert into api_key (tenant_id, surface, label, digest, last4)
    select n % 40 + 1, 'intake', 'source ' || n, sha256(n::text::bytea), 'abcd'
    from generate_series(1, ${keys}::int) as n`;
  await admin`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select new_event_id(event_id_at(e.at), 1), 'lead', k.tenant_id, k.id, e.at, 'k', '{phone_unnormalized,project_area_unknown}', '{"project_area":"moat"}'
    from (
      select n, now() - n * make_interval(secs => ${days * 86_400 / events}) as at
      from generate_series(0, ${events - 1}::int) as n
    ) as e
    join api_key as k on k.id = e.n % ${keys} + 1`;
  await admin`
    insert into attempt (event_id, number, at, outcome, duration_ms, spent)
    select event_id, 1, received_at + interval '1 s', 'delivered', 50, true
    from (select *, row_number() over (order by event_id) as n from event) as e where n % 5 > 0`;
  await admin`
    insert into outbox (event_id, tenant_id, due_at)
    select event_id, tenant_id, received_at
    from (select *, row_number() over (order by event_id) as n from event) as e where n % 5 = 0`;
});

interface Plan {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly Plans?: readonly Plan[];
  readonly [detail: string]: unknown;
}

/** Returns the rows that a plan's nodes returned or discarded. */
function rowsOf(plan: Plan): number {
  const removed = Object.entries(plan).filter(([name]) => name.startsWith("Rows Removed by"));
  const rows = removed.reduce((sum, [, count]) => sum + Number(count), plan["Actual Rows"]);
  return rows * plan["Actual Loops"] + (plan.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), 0);
}

/** Returns a pool that records each statement's plan with its row counts. */
function watchedPool(settings: Readonly<Record<string, string | number>> = {}) {
  const plans: Plan[] = [];
  const sql = postgres(databaseUrl, {
    max: 2,
    onnotice: ({ message = "" }) => plans.push(JSON.parse(message.slice(message.indexOf("{"))).Plan),
    connection: {
      session_preload_libraries: "auto_explain",
      "auto_explain.log_min_duration": "0",
      "auto_explain.log_analyze": "on",
      "auto_explain.log_timing": "off",
      "auto_explain.log_format": "json",
      "auto_explain.log_level": "notice",
      ...settings,
    },
  });
  atEnd(() => sql.end({ timeout: 5 }));
  // A real pool would discard the result of a statement with a notice, or hide the notice.
  const pool = {
    run: (_deadlineMs: number, statement: (sql: postgres.Sql) => unknown) => statement(sql),
  } as unknown as Pool;
  return { pool, rows: () => plans.splice(0).reduce((sum, plan) => sum + rowsOf(plan), 0) };
}

const dayMs = 86_400_000;
const tomorrowMs = Math.floor(Date.now() / dayMs) * dayMs + dayMs;
const span = {
  since: new Date(tomorrowMs - (days + 1) * dayMs).toISOString(),
  until: new Date(tomorrowMs).toISOString(),
  tenant: null,
};

test("a report reads rows in proportion to events and keys, even with wrong planner estimates", async () => {
  // The plan chosen with estimates of one row.
  const asExpectingOne = { enable_hashjoin: "off", enable_mergejoin: "off", enable_material: "off" };
  for (const isRolled of [false, true]) {
    if (isRolled) await admin`select roll_up_hours(${24 * (days + 1)})`;
    for (const settings of [{}, asExpectingOne]) {
      const { pool, rows } = watchedPool(settings);
      const { figures, sources } = await readReport(pool, span);
      assert.equal(sources.length, keys);
      assert.equal(figures.reduce((sum, { accepted }) => sum + accepted, 0), events);
      assert.equal(figures.reduce((sum, { delivered }) => sum + delivered, 0), events * 4 / 5);
      assert.equal(figures.reduce((sum, { pending }) => sum + pending, 0), events / 5);
      const touched = rows();
      assert.ok(touched > events && touched < 100 * (events + keys), `${touched} rows`);
    }
  }
});

test("a replayed event counts once, as delivered, whatever the outcome of the replay", async () => {
  const pool = openPool(databaseUrl);
  const totals = async () => {
    const { figures } = await readReport(pool, span);
    const names = ["accepted", "delivered", "pending", "dead"] as const;
    return names.map((name) => figures.reduce((total, day) => total + day[name], 0));
  };
  const before = await totals();
  const [one, two] = await admin<{ event_id: string; tenant_id: number }[]>`
    select e.event_id, e.tenant_id from event as e join attempt as a on a.event_id = e.event_id order by 1 desc limit 2`;
  await admin`
    insert into outbox (event_id, tenant_id, due_at, is_replay)
    values (${one?.event_id as string}, ${one?.tenant_id as number}, now(), true)`;
  await admin`
    insert into dead_letter (event_id, tenant_id, died_at)
    values (${two?.event_id as string}, ${two?.tenant_id as number}, now())`;
  assert.deepEqual(await totals(), before);
});
