import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const key = await testEnv.issue();

/** Returns the number of transactions that committed these events. */
async function transactions(eventIds: readonly string[]): Promise<number> {
  const [row] = await testEnv.sql<{ count: number }[]>`
    select count(distinct xmin::text)::int as count from event where event_id = any (${[...eventIds]})`;
  return row?.count ?? 0;
}

/** Makes the database refuse every lead with this first name. */
async function refuseInDatabase(firstName: string): Promise<() => Promise<unknown>> {
  await testEnv.sql.unsafe(`
    create function refuse_poison() returns trigger language plpgsql as $$
    begin
      if new.lead->>'first_name' = '${firstName}' then raise exception 'no % here', new.raw; end if;
      return new;
    end $$;
    create trigger refuse_poison before insert on event for each row execute function refuse_poison()`);
  return () => testEnv.sql`drop function refuse_poison() cascade`;
}

test("500 concurrent leads take fewer than 50 transactions", async () => {
  const counts: number[] = [];
  // On a busy machine, the clients may not post them at the same time.
  while (counts.length < 5 && counts.every((count) => count > 50)) {
    const { text } = await testEnv.issue();
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => testEnv.intake({ key: text, body: lead() })),
    );
    assert.ok(answers.every(({ status }) => status === 202));
    const ids = answers.map(({ json }) => json.event_id);
    assert.equal(new Set(ids).size, 500);
    counts.push(await transactions(ids));
    const [row] = await testEnv.sql`
      select count(*)::int as together from event as e join outbox as o using (event_id)
      where e.xmin = o.xmin and event_id = any (${ids})`;
    assert.equal(row?.together, 500, "each event's outbox row came in its transaction");
  }
  assert.ok(counts.some((count) => count <= 50), `${counts.join(", ")} transactions`);
});

test("posts that arrive during a commit form the next batch", async () => {
  const release = await testEnv.holdCommits();
  const begun = testEnv.intake({ key: key.text, body: lead() });
  await testEnv.untilWaiting();
  const waiting = Array.from({ length: 30 }, () => testEnv.intake({ key: key.text, body: lead() }));
  // A key check queries the store: when it returns, the earlier posts have been read.
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422);
  }
  await release();
  const first = (await begun).json.event_id;
  const ids = (await Promise.all(waiting)).map(({ json }) => json.event_id);
  assert.ok(await transactions(ids) <= 2, "thirty posts in one batch, or a straggler in a second");
  assert.ok(ids.every((id) => id > first));
});

test("a lead that the database refuses answers 503 alone, its neighbours 202, and the log has only its SQLSTATE", async () => {
  const accept = await refuseInDatabase("Poison");
  const before = await testEnv.stored();
  const poison = {
    key: key.text,
    body: lead({ first_name: "Poison" }),
    headers: { "Idempotency-Key": freshKey() },
  };
  const release = await testEnv.holdCommits();
  const begun = testEnv.intake({ key: key.text, body: lead() });
  await testEnv.untilWaiting();
  const neighbours = Array.from({ length: 20 }, () => testEnv.intake({ key: key.text, body: lead() }));
  const refused = testEnv.intake(poison);
  const after = Array.from({ length: 20 }, () => testEnv.intake({ key: key.text, body: lead() }));
  await testEnv.intake({ key: key.text, body: {} });
  await release();
  assert.equal((await begun).status, 202);
  for (const answer of await Promise.all([...neighbours, ...after])) assert.equal(answer.status, 202);
  const answer = await refused;
  assert.equal(answer.status, 503);
  assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  const { events } = await testEnv.stored();
  assert.equal(events, before.events + 41);

  assert.equal((await testEnv.intake(poison)).status, 503, "alone too");
  const line = await until(() => server.logs.find(({ event }) => event === "entry_refused"));
  assert.match(String(line.cause), /^SQLSTATE P0001/);
  assert.doesNotMatch(server.output.stdout, /Poison/);
  await accept();
  assert.equal((await testEnv.intake(poison)).status, 202, "its Idempotency-Key was not consumed");
});

test("a commit past its deadline answers 503, and a retry with its Idempotency-Key gets the outcome", async () => {
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  const release = await testEnv.holdCommits();
  const answer = await testEnv.intake(options);
  await release();
  assert.equal(answer.status, 503);
  assert.equal(answer.json.error, "not_accepting");
  const retry = await testEnv.intake(options);
  assert.ok([200, 202].includes(retry.status));
  const [row] = await testEnv.sql`
    select count(*)::int as count from event where idempotency_key = ${options.headers["Idempotency-Key"]}`;
  assert.equal(row?.count, 1);
});
