/** The connection on which a node hears of others' commits is half open, or PostgreSQL is restarted. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { deliveryStand } from "../support/faults/delivery_stand.ts";
import { leadBody } from "../support/faults/load.ts";
import { openProxy } from "../support/faults/postgres_proxy.ts";
import { type Chance, chanceOf, rounds } from "../support/faults/random.ts";
import { withSql } from "../support/faults/store.ts";

const pollMs = 4_000;
const noticedWithinMs = 15_000;
// What a process on a busy machine may wait for its turn: less than another poll would take.
const slackMs = 3_500;
const listenName = "lead-intake listen";

const stand = await deliveryStand({ ownPostgres: true, env: { DELIVERY_POLL_MS: String(pollMs) } });
const { databaseUrl, deliveries, intake, tier, world } = stand;
assert.ok(stand.postgres);
const { server } = stand.postgres;
const proxy = await openProxy(server.port);
const key = await stand.routed();
// One accepts and does not deliver, so that the other has nothing but hints and its poll.
const accepting = await world.start();
const delivering = await world.start({
  ...{ ACTIONS_URL: tier.url, DELIVERY_POLL_MS: String(pollMs) },
  // What waits for a connection that is cut is settled at once, all the same.
  ...{ DELIVERY_SEND_TIMEOUT_MS: "8000", DELIVERY_LEASE_MS: "9000", DELIVERY_BACKOFF_BASE_MS: "100" },
}, { databaseUrl: proxy.databaseUrl(databaseUrl), runtime: "node" });

/** Posts a lead to the one that accepts, and returns how long after the 202 it arrived at the tier. */
async function delayMs(chance: Chance): Promise<number> {
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

/** The server's side of the listening connection. */
function listener(): Promise<number | undefined> {
  return withSql(databaseUrl, async (sql) => {
    const [row] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where application_name = ${listenName} and query ilike 'listen%' order by backend_start desc`;
    return row?.pid;
  });
}

/** Two in a row, sooner than two polls could be: it is hints that bring them. */
async function assertHinted(t: TestContext, chance: Chance): Promise<void> {
  const both = await delayMs(chance) + await delayMs(chance);
  t.diagnostic(`two leads took ${Math.round(both)} ms by hints`);
  assert.ok(both < pollMs - 1_000, `two leads took ${both} ms`);
}

test("a half-open LISTEN connection costs no more than the poll interval, and is noticed and replaced within 15 s", async (t) => {
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(1); round++) {
    const before = await until(listener, { what: "the node listens" });
    await assertHinted(t, chance);
    // Soon after a beat in the short run, which is the worst moment, and anywhere between two in the long one.
    const moment = performance.now() + (round === 1 ? 0 : chance.below(4_000));
    await until(() => performance.now() >= moment, { what: "the moment" });
    const startMs = performance.now();
    proxy.blackHole(listenName);
    for (let n = 1; n <= 2; n++) {
      const tookMs = await delayMs(chance);
      t.diagnostic(`a lead took ${Math.round(tookMs)} ms by the poll`);
      assert.ok(tookMs < pollMs + slackMs);
    }
    await until(async () => (await listener() ?? before) !== before, {
      deadlineMs: 2 * noticedWithinMs,
      what: "another connection listens",
      intervalMs: 100,
    });
    const noticedMs = performance.now() - startMs;
    t.diagnostic(`noticed and replaced after ${Math.round(noticedMs)} ms`);
    assert.ok(noticedMs < noticedWithinMs + slackMs);
    await assertHinted(t, chance);
  }
  await stand.drained();
  await deliveries.check();
});

test("PostgreSQL killed and restarted: the node listens and drains again by itself", async (t) => {
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(1); round++) {
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
    await stand.drained();
  }
  const figures = await deliveries.check();
  t.diagnostic(`${intake.summary()}; ${JSON.stringify(figures)}`);
  assert.equal(delivering.logs.filter(({ event }) => event === "fault").length, 0);
});
