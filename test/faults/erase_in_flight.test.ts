/**
 * A person is erased while the service is at work on what is erased: sends are under way, leases run out, the person's
 * retries arrive.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type postgres from "postgres";
import { eraseCommands } from "../../src/ctl/erase.ts";
import { type Command, parseInput } from "../../src/ctl/command.ts";
import { openAdminPool } from "../../src/store/operator/admin_pool.ts";
import { freshKey, type IssuedKey, lead } from "../support/world.ts";
import { everyValue } from "../support/every_value.ts";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { deliveryStand } from "../support/faults/delivery_stand.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";
import type { TierAnswer } from "../support/faults/tier.ts";

const stand = await deliveryStand({ ownPostgres: true, env: { DELIVERY_ATTEMPTS_MAX: "3" } });
const { databaseUrl, tier, world } = stand;
const { sql } = world;
let server: RunningServer;

interface Erased {
  readonly events: number;
  readonly collisions: number;
  readonly erased: readonly { readonly event_id: string; readonly state: string }[];
}

/** `ctl erase` in this process, because starting one takes longer than what it does. */
async function erase(...args: string[]): Promise<Erased> {
  const command = eraseCommands[0] as Command;
  const pool = openAdminPool(databaseUrl);
  try {
    return (await command.prepare(parseInput(command, args))(pool)).json as Erased;
  } finally {
    await pool.close();
  }
}

/** By the server that was started last. */
async function accepted(key: IssuedKey, members: Record<string, unknown> = {}): Promise<string> {
  const headers = { "Idempotency-Key": freshKey() };
  const answer = await world.intake({ key: key.text, body: lead(members), headers }, server);
  assert.equal(answer.status, 202);
  return answer.json.event_id;
}

/** What is there of an event beside itself, and the counts of all. */
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

/** The running counts say what is there. */
async function assertTally(): Promise<void> {
  const [row] = await sql`
    select (select coalesce(sum(delta) filter (where state = 'pending'), 0)::int from outbox_tally)
        - (select count(*)::int from outbox) as pending,
      (select coalesce(sum(delta) filter (where state = 'dead'), 0)::int from outbox_tally)
        - (select count(*)::int from dead_letter) as dead`;
  assert.deepEqual({ ...row }, { pending: 0, dead: 0 });
}

const nothing = { outbox: 0, dead: 0, gone: true };

for (
  const [status, outcome] of [[200, "delivered"], [500, "refused"], [503, "unreachable"]] as const
) {
  test(`an event that is erased while it is being sent, and is answered ${status}, is settled into nothing and not sent again`, async () => {
    server = await stand.start();
    const key = await stand.routed();
    const answer = Promise.withResolvers<TierAnswer>();
    tier.answer = ({ text }) => text.includes("hangs@example.org") ? answer.promise : { status: 200 };
    const id = await accepted(key, { email: "hangs@example.org" });
    await until(() => tier.of(id).length === 1, { what: "it is being sent" });

    const { erased } = await erase("--email", "hangs@example.org");
    assert.deepEqual(erased, [{ event_id: id, state: "sending" }]);
    assert.deepEqual(await left(id), nothing);
    await assertTally();

    answer.resolve({ status, text: JSON.stringify({ error: "says hangs@example.org" }) });
    await until(async () => (await attempts(id)).length === 1, { what: "the attempt is recorded" });
    assert.deepEqual(await attempts(id), [{ number: 1, outcome, status, reason: null }]);
    // Longer than any wait between attempts.
    await stand.pass(60);
    const later = await accepted(key);
    await until(async () => (await attempts(later)).length === 1, { what: "a later lead is delivered" });
    assert.equal(tier.of(id).length, 1);
    assert.deepEqual(await left(id), nothing);
    await assertTally();
    assert.doesNotMatch(server.output.stdout + server.output.stderr, /hangs@|delivery_failure/);
    await server.stop();
    tier.answer = () => ({ status: 200 });
  });
}

test("an event that is erased under the lease of a process that was killed is neither found lost nor sent again", async () => {
  server = await stand.start();
  const key = await stand.routed();
  tier.answer = () => "hang";
  const id = await accepted(key, { email: "killed@example.org" });
  await until(() => tier.of(id).length === 1, { what: "it is being sent" });
  await server.kill();
  await erase("--email", "killed@example.org");
  await stand.pass(3_600);
  tier.answer = () => ({ status: 200 });
  server = await stand.start();
  const later = await accepted(key);
  await until(() => tier.of(later).length === 1, { what: "a later lead is sent" });
  await stand.drained();
  assert.equal(tier.of(id).length, 1);
  assert.deepEqual(await attempts(id), []);
  assert.deepEqual(await left(id), nothing);
  await assertTally();
  await server.stop();
});

/** An event that nothing sends, in a state of our choice; on a server that delivers nothing. */
async function idle(state: "pending" | "dead" | "held"): Promise<string> {
  const { form, key } = await world.formWithKey({ required: ["message"] });
  const website = state === "held" ? "https://x.example" : "";
  const { json } = await world.submit(form, { key: key.text, body: { message: "Race", website } }, server);
  const id: string = json.submission_id;
  if (state === "dead") await move(sql, id);
  return id;
}

/** As the last refused attempt is settled. */
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
  test(`an event that ${what} at the moment of its erasure is nowhere afterwards, whoever was first`, async () => {
    server = await stand.start({ ACTIONS_URL: "" });
    const holder = await sql.reserve();
    const first = await idle(from);
    await holder`begin`;
    await work(holder, first);
    const erasing = erase("--event", first);
    await world.untilWaiting();
    await holder`commit`;
    assert.equal((await erasing).events, 1);
    assert.deepEqual(await left(first), nothing);

    const second = await idle(from);
    await holder`begin`;
    await holder`select erase_event(${second}, null, '{}')`;
    // A query that nobody awaits does not run.
    const working = (async () => await work(sql, second))();
    await world.untilWaiting();
    await holder`commit`;
    await working;
    assert.deepEqual(await left(second), nothing);
    await assertTally();
    holder.release();
    await server.stop();
  });
}

test("erasures beside intake, retries, deliveries, replays and releases deadlock with nothing, lose nobody else's lead, and leave nothing", async (t) => {
  const chance = chanceOf(t);
  const servers = [await stand.start(), await stand.start()];
  const keys = [await stand.routed(), await stand.routed()];
  const emails = ["storm.one@example.org", "storm.two@example.org"];
  tier.answer = () => chance.pick<TierAnswer>([{ status: 200 }, { status: 200 }, { status: 424 }, "cut"]);
  const theirKeys = Array.from({ length: 30 }, () => freshKey());
  const others = new Map<string, { readonly key: IssuedKey; readonly id: string }>();
  let isOver = false;
  const untilOver = async (work: () => Promise<void>) => {
    while (!isOver) await work();
  };

  const postOther = async () => {
    // Now and then another lead under a key that was used: a collision.
    const used = chance.oneIn(3) && others.size > 0 ? chance.pick([...others.keys()]) : null;
    const idempotencyKey = used ?? freshKey();
    const key = others.get(idempotencyKey)?.key ?? chance.pick(keys);
    const body = lead({ project_area: "storm cellar" });
    const headers = { "Idempotency-Key": idempotencyKey };
    const answer = await world.intake({ key: key.text, body, headers }, chance.pick(servers));
    assert.ok([200, 202].includes(answer.status), `another's lead is answered ${answer.status}`);
    others.set(idempotencyKey, { key, id: answer.json.event_id });
  };
  const postTheirs = async () => {
    const headers: Record<string, string> = chance.oneIn(4)
      ? {}
      : { "Idempotency-Key": chance.pick(theirKeys) };
    const body = lead({ last_name: "Storm", email: chance.pick(emails), note: String(chance.below(3)) });
    const answer = await world.intake({ key: keys[0]?.text ?? "", body, headers }, chance.pick(servers));
    assert.ok([200, 202].includes(answer.status), `their lead is answered ${answer.status}`);
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
  for (let round = 0; round < rounds(8); round++) {
    const done = await Promise.all(emails.concat(emails).map((email) => erase("--email", email)));
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
  for (const email of emails) await erase("--email", email);
  for (const email of emails) assert.equal((await erase("--email", email)).events, 0);
  await sql`select replay_dead(array(select event_id from dead_letter))`;
  await stand.drained();
  await until(async () => (await sql`select from outbox`).length === 0, { what: "all is delivered" });
  await assertTally();
  const traces = (await everyValue(sql)).filter(({ text }) => /storm\.(one|two)|"Storm"/.test(text));
  assert.deepEqual(traces.map(({ column }) => column), []);
  const ids = [...others.values()].map(({ id }) => id);
  const [row] = await sql`
    select count(*)::int as kept from event where event_id = any (${ids}) and lead is not null and raw is not null`;
  assert.equal(row?.kept, ids.length);
  const taken = tier.taken;
  assert.deepEqual(ids.filter((id) => !taken.has(id)), []);
  const [terms] = await sql`select sum(count)::int as count from unknown_area where term = 'storm cellar'`;
  assert.equal(terms?.count, ids.length);
  assert.doesNotMatch(readFileSync(stand.postgres?.server.logFile ?? "", "utf8"), /deadlock/);
});
