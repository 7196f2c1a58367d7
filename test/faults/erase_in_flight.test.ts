/** Tests erasing a person while their events are being sent, leased, replayed or retried. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type postgres from "postgres";
import { freshKey, type IssuedKey, lead } from "../support/test_env.ts";
import { everyValue } from "../support/every_value.ts";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { assertTally, erase } from "../support/faults/erase.ts";
import { randomOf } from "../support/faults/random.ts";
import type { TierAnswer } from "../support/faults/tier.ts";

const fixture = await deliveryFixture({ ownPostgres: true, env: { DELIVERY_ATTEMPTS_MAX: "3" } });
const { databaseUrl, tier, testEnv } = fixture;
const { sql } = testEnv;
let server: RunningServer;

/** Posts a lead to the server that was started last. */
const accepted = (key: IssuedKey, members = {}) => testEnv.accept(key, members, server);

/** Returns an event's rows in outbox and dead_letter, and whether its content is gone. */
async function left(eventId: string) {
  const [row] = await sql`
    select (select count(*)::int from outbox where event_id = ${eventId}) as outbox,
      (select count(*)::int from dead_letter where event_id = ${eventId}) as dead,
      (select lead is null and raw is null and removed_at is not null from event where event_id = ${eventId}) as gone`;
  return { ...row };
}

async function attempts(eventId: string) {
  const rows = await sql`
    select number, outcome, status, reason from attempt where event_id = ${eventId} order by number`;
  return rows.map((row) => ({ ...row }));
}

const nothing = { outbox: 0, dead: 0, gone: true };

for (
  const [status, outcome] of [[200, "delivered"], [500, "refused"], [503, "unreachable"]] as const
) {
  test(`an event erased during a send with response ${status} is settled without content and not sent again`, async () => {
    server = await fixture.start();
    const key = await fixture.routed();
    const answer = Promise.withResolvers<TierAnswer>();
    tier.answer = ({ text }) => text.includes("hangs@example.org") ? answer.promise : { status: 200 };
    const id = await accepted(key, { email: "hangs@example.org" });
    await until(() => tier.of(id).length === 1, { what: "the event is being sent" });

    const { erased } = await erase(databaseUrl, "--email", "hangs@example.org");
    assert.deepEqual(erased, [{ event_id: id, state: "sending" }]);
    assert.deepEqual(await left(id), nothing);
    await assertTally(databaseUrl);

    answer.resolve({ status, text: JSON.stringify({ error: "says hangs@example.org" }) });
    await until(async () => (await attempts(id)).length === 1, { what: "the attempt is recorded" });
    assert.deepEqual(await attempts(id), [{ number: 1, outcome, status, reason: null }]);
    // Longer than any wait between attempts.
    await fixture.pass(60);
    const later = await accepted(key);
    await until(async () => (await attempts(later)).length === 1, { what: "a later lead is delivered" });
    assert.equal(tier.of(id).length, 1);
    assert.deepEqual(await left(id), nothing);
    await assertTally(databaseUrl);
    assert.doesNotMatch(server.output.stdout + server.output.stderr, /hangs@|delivery_failure/);
    await server.stop();
    tier.answer = () => ({ status: 200 });
  });
}

test("an event erased under the lease of a killed process is not sent again", async () => {
  server = await fixture.start();
  const key = await fixture.routed();
  tier.answer = () => "hang";
  const id = await accepted(key, { email: "killed@example.org" });
  await until(() => tier.of(id).length === 1, { what: "the event is being sent" });
  await server.kill();
  await erase(databaseUrl, "--email", "killed@example.org");
  await fixture.pass(3_600);
  tier.answer = () => ({ status: 200 });
  server = await fixture.start();
  const later = await accepted(key);
  await until(() => tier.of(later).length === 1, { what: "a later lead is sent" });
  await fixture.drained();
  assert.equal(tier.of(id).length, 1);
  assert.deepEqual(await attempts(id), []);
  assert.deepEqual(await left(id), nothing);
  await assertTally(databaseUrl);
  await server.stop();
});

/** Stores an event in this state on a server that delivers nothing. */
async function idle(state: "pending" | "dead" | "held"): Promise<string> {
  const { form, key } = await testEnv.formWithKey({ required: ["message"] });
  const website = state === "held" ? "https://x.example" : "";
  const { json } = await testEnv.submit(form, { key: key.text, body: { message: "Race", website } }, server);
  const id: string = json.submission_id;
  if (state === "dead") await move(sql, id);
  return id;
}

/** Moves an event to the dead letters, as its last refused attempt does. */
async function move(on: postgres.ISql, id: string): Promise<void> {
  await on`
    with gone as (delete from outbox where event_id = ${id} returning event_id, tenant_id),
    buried as (
      insert into dead_letter (event_id, tenant_id, died_at) select event_id, tenant_id, now() from gone
    )
    insert into outbox_tally (state, delta)
    select t.* from gone, (values ('pending', -1), ('dead', 1)) as t`;
}

const races: readonly (readonly [
  string,
  "pending" | "dead" | "held",
  (on: postgres.ISql, id: string) => Promise<unknown>,
])[] = [
  ["dies", "pending", move],
  ["is replayed", "dead", (on, id) => on`select replay_dead(array[${id}])`],
  ["is released", "held", (on, id) => on`select release_submission(${id})`],
];

for (const [what, from, work] of races) {
  test(`an event that ${what} during its erasure is removed in either order`, async () => {
    server = await fixture.start({ ACTIONS_URL: "" });
    const holder = await sql.reserve();
    const first = await idle(from);
    await holder`begin`;
    await work(holder, first);
    const erasing = erase(databaseUrl, "--event", first);
    await testEnv.untilWaiting();
    await holder`commit`;
    assert.equal((await erasing).events, 1);
    assert.deepEqual(await left(first), nothing);

    const second = await idle(from);
    await holder`begin`;
    await holder`select erase_event(${second}, null, '{}')`;
    // A query that is not awaited does not run.
    const working = (async () => await work(sql, second))();
    await testEnv.untilWaiting();
    await holder`commit`;
    await working;
    assert.deepEqual(await left(second), nothing);
    await assertTally(databaseUrl);
    holder.release();
    await server.stop();
  });
}

test("erasures under load do not deadlock, lose no other lead and leave no trace", async (t) => {
  const chance = randomOf(t);
  const servers = [await fixture.start(), await fixture.start()];
  const keys = [await fixture.routed(), await fixture.routed()];
  const emails = ["storm.one@example.org", "storm.two@example.org"];
  tier.answer = () => chance.pick<TierAnswer>([{ status: 200 }, { status: 200 }, { status: 424 }, "cut"]);
  const theirKeys = Array.from({ length: 30 }, () => freshKey());
  const others = new Map<string, { readonly key: IssuedKey; readonly id: string }>();
  let isOver = false;
  const untilOver = async (work: () => Promise<void>) => {
    while (!isOver) await work();
  };

  const postOther = async () => {
    // Sometimes another lead under a used key, which is a collision.
    const used = chance.oneIn(3) && others.size > 0 ? chance.pick([...others.keys()]) : null;
    const idempotencyKey = used ?? freshKey();
    const key = others.get(idempotencyKey)?.key ?? chance.pick(keys);
    const body = lead({ project_area: "storm cellar" });
    const headers = { "Idempotency-Key": idempotencyKey };
    const answer = await testEnv.intake({ key: key.text, body, headers }, chance.pick(servers));
    assert.ok([200, 202].includes(answer.status), `another person's lead gets ${answer.status}`);
    others.set(idempotencyKey, { key, id: answer.json.event_id });
  };
  const postTheirs = async () => {
    const headers: Record<string, string> = chance.oneIn(4)
      ? {}
      : { "Idempotency-Key": chance.pick(theirKeys) };
    const body = lead({ last_name: "Storm", email: chance.pick(emails), note: String(chance.below(3)) });
    const answer = await testEnv.intake({ key: keys[0]?.text ?? "", body, headers }, chance.pick(servers));
    assert.ok([200, 202].includes(answer.status), `the erased person's lead gets ${answer.status}`);
  };
  const replay = async () => {
    await sql`select replay_dead(array(select event_id from dead_letter))`;
    await sql`select release_submission(event_id) from event order by random() limit 5`;
    await sql`select fold_counts()`;
  };
  const erasures: number[] = [];
  const workers = [
    ...Array.from({ length: 4 }, () => untilOver(postOther)),
    ...Array.from({ length: 4 }, () => untilOver(postTheirs)),
    untilOver(replay),
  ];
  for (let round = 0; round < 8; round++) {
    const done = await Promise.all(
      emails.concat(emails).map((email) => erase(databaseUrl, "--email", email)),
    );
    erasures.push(...done.map(({ events }) => events));
  }
  isOver = true;
  await Promise.all(workers);
  t.diagnostic(
    `${
      erasures.reduce((sum, events) => sum + events, 0)
    } erased in ${erasures.length} runs, ${others.size} others`,
  );
  assert.ok(erasures.some((events) => events > 0));

  tier.answer = () => ({ status: 200 });
  for (const email of emails) await erase(databaseUrl, "--email", email);
  for (const email of emails) assert.equal((await erase(databaseUrl, "--email", email)).events, 0);
  await sql`select replay_dead(array(select event_id from dead_letter))`;
  await fixture.drained();
  await until(async () => (await sql`select from outbox`).length === 0, { what: "all is delivered" });
  await assertTally(databaseUrl);
  const traces = (await everyValue(sql)).filter(({ text }) => /storm\.(one|two)|"Storm"/.test(text));
  assert.deepEqual(traces.map(({ column }) => column), []);
  const ids = [...others.values()].map(({ id }) => id);
  const [row] = await sql`
    select count(*)::int as kept from event where event_id = any (${ids}) and lead is not null and raw is not null`;
  assert.equal(row?.kept, ids.length);
  const taken = tier.taken;
  assert.deepEqual(ids.filter((id) => !taken.has(id)), []);
  await until(async () => (await sql`select from search_todo`).length === 0, { what: "all is indexed" });
  const [terms] = await sql`select sum(count)::int as count from unknown_area where term = 'storm cellar'`;
  assert.equal(terms?.count, ids.length);
  assert.doesNotMatch(readFileSync(fixture.postgres?.server.logFile ?? "", "utf8"), /deadlock/);
});
