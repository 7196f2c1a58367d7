import assert from "node:assert/strict";
import { test } from "node:test";
import { freshKey, lead, World } from "../support/world.ts";

const world = await World.open();
await world.start();
const key = await world.issue();

/** How many transactions committed these events. */
async function transactions(eventIds: readonly string[]): Promise<number> {
  const [row] = await world.sql<{ count: number }[]>`
    select count(distinct xmin::text)::int as count from event where event_id = any (${[...eventIds]})`;
  return row?.count ?? 0;
}

/** Makes the database refuse every lead of this first name. */
async function refuseInDatabase(firstName: string): Promise<() => Promise<unknown>> {
  await world.sql.unsafe(`
    create function refuse_poison() returns trigger language plpgsql as $$
    begin
      if new.lead->>'first_name' = '${firstName}' then raise exception 'no % here', new.raw; end if;
      return new;
    end $$;
    create trigger refuse_poison before insert on event for each row execute function refuse_poison()`);
  return () => world.sql`drop function refuse_poison() cascade`;
}

test("concurrent posts share transactions: 500 leads take less than a tenth as many", async () => {
  const answers = await Promise.all(
    Array.from({ length: 500 }, () => world.intake({ key: key.text, body: lead() })),
  );
  assert.ok(answers.every(({ status }) => status === 202));
  const ids = answers.map(({ json }) => json.event_id);
  assert.equal(new Set(ids).size, 500);
  const count = await transactions(ids);
  assert.ok(count <= 50, `${count} transactions`);
  const [row] = await world.sql`
    select count(*)::int as together from event as e join outbox as o using (event_id)
    where e.xmin = o.xmin and event_id = any (${ids})`;
  assert.equal(row?.together, 500, "each event's outbox row came in its transaction");
});

test("what arrives during a commit forms the next batch", async () => {
  const release = await world.holdCommits();
  const begun = world.intake({ key: key.text, body: lead() });
  await world.untilWaiting();
  const waiting = Array.from({ length: 30 }, () => world.intake({ key: key.text, body: lead() }));
  // Asks the store and comes back: by then the posts before it have been read.
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await world.intake({ key: key.text, body: {} })).status, 422);
  }
  await release();
  const first = (await begun).json.event_id;
  const ids = (await Promise.all(waiting)).map(({ json }) => json.event_id);
  assert.ok(await transactions(ids) <= 2, "thirty posts in one batch, or a straggler in a second");
  assert.ok(ids.every((id) => id > first));
});

test("a lead that the database refuses fails alone: 503 for it, 202 for its neighbours, nothing of it stored", async () => {
  const accept = await refuseInDatabase("Poison");
  const before = await world.stored();
  const poison = {
    key: key.text,
    body: lead({ first_name: "Poison" }),
    headers: { "Idempotency-Key": freshKey() },
  };
  const release = await world.holdCommits();
  const begun = world.intake({ key: key.text, body: lead() });
  await world.untilWaiting();
  const neighbours = Array.from({ length: 20 }, () => world.intake({ key: key.text, body: lead() }));
  const refused = world.intake(poison);
  const after = Array.from({ length: 20 }, () => world.intake({ key: key.text, body: lead() }));
  await world.intake({ key: key.text, body: {} });
  await release();
  assert.equal((await begun).status, 202);
  for (const answer of await Promise.all([...neighbours, ...after])) assert.equal(answer.status, 202);
  const answer = await refused;
  assert.equal(answer.status, 503);
  assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  const { events } = await world.stored();
  assert.equal(events, before.events + 41);

  assert.equal((await world.intake(poison)).status, 503, "alone too");
  await accept();
  assert.equal((await world.intake(poison)).status, 202, "its Idempotency-Key was not consumed");
});

test("the log has the SQLSTATE of a refused lead and none of its content", async () => {
  const server = await world.start();
  const accept = await refuseInDatabase("Poison");
  const answer = await world.intake({ key: key.text, body: lead({ first_name: "Poison" }) }, server);
  await accept();
  assert.equal(answer.status, 503);
  assert.equal(await server.stop(), 0);
  const [line] = server.logs.filter(({ event }) => event === "entry_refused");
  assert.match(String(line?.cause), /^SQLSTATE P0001/);
  assert.doesNotMatch(server.output.stdout, /Poison/);
});

test("a commit that takes too long is 503 before its end, and the retry with its Idempotency-Key finds out", async () => {
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  const release = await world.holdCommits();
  const answer = await world.intake(options);
  await release();
  assert.equal(answer.status, 503);
  assert.equal(answer.json.error, "not_accepting");
  const retry = await world.intake(options);
  assert.ok([200, 202].includes(retry.status));
  const [row] = await world.sql`
    select count(*)::int as count from event where idempotency_key = ${options.headers["Idempotency-Key"]}`;
  assert.equal(row?.count, 1);
});
