/** Tests a half-open LISTEN connection and a restart of PostgreSQL. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { leadBody } from "../support/faults/load.ts";
import { openProxy } from "../support/faults/postgres_proxy.ts";
import { type Random, randomOf } from "../support/faults/random.ts";
import { withSql } from "../support/database.ts";

const pollMs = 10_000;
const noticedWithinMs = 15_000;
// Slack for a busy machine, below another poll interval.
const slackMs = 9_000;
const listenName = "lead-intake listen";

const fixture = await deliveryFixture({ ownPostgres: true, env: { DELIVERY_POLL_MS: String(pollMs) } });
const { databaseUrl, deliveries, intake, tier, testEnv } = fixture;
assert.ok(fixture.postgres);
const { server } = fixture.postgres;
const proxy = await openProxy(server.port);
const key = await fixture.routed();
// One server only accepts, so that the other depends on notifications and its poll.
const accepting = await testEnv.start();
const delivering = await testEnv.start({
  ACTIONS_URL: tier.url,
  DELIVERY_POLL_MS: String(pollMs),
  // Sends and leases are short, so that a lost attempt is repeated soon.
  DELIVERY_SEND_TIMEOUT_MS: "8000",
  DELIVERY_LEASE_MS: "9000",
  DELIVERY_BACKOFF_BASE_MS: "100",
}, { databaseUrl: proxy.databaseUrl(databaseUrl), runtime: "node" });

/** Posts a lead and returns the time from its 202 to its arrival at the tier. */
async function delayMs(chance: Random): Promise<number> {
  const request = {
    apiKey: key.text,
    idempotencyKey: intake.freshKey("lead"),
    body: leadBody(chance, intake.entries.length),
  };
  const outcome = await intake.post(accepting.url, request);
  assert.equal(outcome.kind, "accepted");
  const atMs = performance.now();
  const id = outcome.kind === "accepted" ? outcome.eventId : "";
  await until(() => tier.of(id).length > 0, { deadlineMs: 3 * pollMs, what: `${id} arrives`, intervalMs: 2 });
  return (tier.of(id)[0]?.atMs ?? Infinity) - atMs;
}

/** Returns the backend pid of the listening connection. */
function listener(): Promise<number | undefined> {
  return withSql(databaseUrl, async (sql) => {
    const [row] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where application_name = ${listenName} and query ilike 'listen%' order by backend_start desc`;
    return row?.pid;
  });
}

/** Asserts that two leads arrive sooner than two polls would bring them. */
async function assertHinted(t: TestContext, chance: Random): Promise<void> {
  const both = await delayMs(chance) + await delayMs(chance);
  t.diagnostic(`two leads took ${Math.round(both)} ms by hints`);
  assert.ok(both < pollMs - 1_000, `two leads took ${both} ms`);
}

test("a half-open LISTEN connection delays leads by at most the poll interval and is replaced within 15 s", async (t) => {
  const chance = randomOf(t);
  const before = await until(listener, { what: "the node listens" });
  await assertHinted(t, chance);
  const startMs = performance.now();
  proxy.blackHole(listenName);
  // Observed beside the leads, whose polls take time of their own.
  const noticed = until(async () => (await listener() ?? before) !== before, {
    deadlineMs: 2 * noticedWithinMs,
    what: "another connection listens",
    intervalMs: 100,
  }).then(() => performance.now() - startMs);
  for (let n = 1; n <= 2; n++) {
    const tookMs = await delayMs(chance);
    t.diagnostic(`a lead took ${Math.round(tookMs)} ms by the poll`);
    assert.ok(tookMs < pollMs + slackMs);
  }
  const noticedMs = await noticed;
  t.diagnostic(`noticed and replaced after ${Math.round(noticedMs)} ms`);
  assert.ok(noticedMs < noticedWithinMs + slackMs);
  await assertHinted(t, chance);
  await fixture.drained();
  await deliveries.check();
});

test("after PostgreSQL is killed and restarted, the server listens and drains again", async (t) => {
  const chance = randomOf(t);
  const before = await until(listener, { what: "the node listens" });
  await deliveries.kill("postgres", {
    end: async () => {
      server.kill("SIGKILL");
      await server.ended;
    },
    begin: () => server.restart(),
  });
  await until(async () => (await listener() ?? before) !== before, { what: "the node listens again" });
  const request = {
    apiKey: key.text,
    body: leadBody(chance, 1),
    idempotencyKey: intake.freshKey("again"),
  };
  await until(async () => (await intake.post(accepting.url, request)).kind !== "not_accepting", {
    what: "leads are accepted again",
  });
  await assertHinted(t, chance);
  await fixture.drained();
  await deliveries.check();
  t.diagnostic(intake.summary());
  assert.equal(delivering.logs.filter(({ event }) => event === "fault").length, 0);
});
