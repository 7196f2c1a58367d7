/** Tests an outage of the actions tier for hours, by the database's clock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { until } from "../support/until.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { leadBody } from "../support/faults/load.ts";
import { type Random, randomOf } from "../support/faults/random.ts";
import { withSql } from "../support/database.ts";
import { readStore } from "../support/faults/store.ts";
import type { IssuedKey } from "../support/test_env.ts";

const concurrency = 16;
const fixture = await deliveryFixture({
  env: {
    // Few attempts: an outage that spends attempts would kill every lead. More than the three failures in a row that open
    // the breaker, because on a slow machine all three may be of one lead.
    DELIVERY_ATTEMPTS_MAX: "4",
    DELIVERY_CONCURRENCY: String(concurrency),
    DELIVERY_SEND_TIMEOUT_MS: "1000",
  },
});
const { databaseUrl, deliveries, intake, tier } = fixture;
const service = await fixture.start();
const key = await fixture.routed();
const hour = 3_600;

/** The ways in which the tier fails. */
const ways = {
  "refuses connections": {
    begin: () => tier.down(),
    end: () => tier.up(),
  },
  "answers 503": {
    begin: () => tier.answer = () => ({ status: 503 }),
    end: () => tier.answer = () => ({ status: 200 }),
  },
  "cuts connections": {
    begin: () => tier.answer = () => "cut",
    end: () => tier.answer = () => ({ status: 200 }),
  },
  "hangs": {
    begin: () => tier.answer = () => "hang",
    end: () => tier.answer = () => ({ status: 200 }),
  },
} as const;

async function accept(chance: Random, count: number, from: IssuedKey = key): Promise<void> {
  for (let n = 1; n <= count; n++) {
    const request = { apiKey: from.text, idempotencyKey: intake.freshKey("out"), body: leadBody(chance, n) };
    assert.equal((await intake.post(service.url, request)).kind, "accepted");
  }
}

const breakerStates = () =>
  service.logs.filter(({ event }) => event === "breaker").map(({ state }) => String(state));

const spentAttempts = async () => {
  const { attempts } = await readStore(databaseUrl);
  return attempts.filter(({ spent, outcome }) => spent && outcome !== "delivered").length;
};

/** Returns the number of claimed, unsettled events. */
async function inFlight(): Promise<number> {
  const [row] = await withSql(databaseUrl, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int as count from outbox where lease is not null`);
  return row?.count ?? 0;
}

/** Waits for another failed probe. */
async function probed(): Promise<void> {
  const failures = async () => {
    const { text } = await get(`${service.urls.ops}/metrics`);
    return [...text.matchAll(/^lead_tier_failures_total\{.*\} (\d+)$/gm)]
      .reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await failures();
  await until(async () => await failures() > before, { deadlineMs: 25_000, what: "a probe fails" });
}

test("an outage of the actions tier for hours spends no attempts, and the load rises step by step afterwards", async (t) => {
  const chance = randomOf(t);
  const names = Object.keys(ways) as (keyof typeof ways)[];
  const way = chance.pick(names);
  t.diagnostic(`the tier ${way}`);
  await accept(chance, 20);
  await fixture.drained();

  const before = await spentAttempts();
  await ways[way].begin();
  await accept(chance, 40);
  await until(() => breakerStates().at(-1) === "open", { what: "the breaker opens" });
  await probed();
  // Sends in flight when the breaker opens are settled late.
  await until(async () => await inFlight() === 0, { what: "all sends in flight are settled" });
  const spent = await spentAttempts();
  // Only sends before the breaker opened spend attempts.
  assert.ok(
    spent - before <= concurrency,
    `${spent - before} attempts were spent before the breaker opened`,
  );
  for (const hours of [1, 5, 48]) {
    await fixture.pass(hours * hour);
    await accept(chance, 20);
    if (hours === 5) await probed();
  }
  const { attempts, dead, outbox } = await readStore(databaseUrl);
  const spentMeanwhile = attempts.filter((one) => one.spent && one.outcome !== "delivered").length - spent;
  assert.equal(spentMeanwhile, 0, "no attempt is spent while the breaker is open");
  assert.deepEqual(dead, []);
  assert.ok(outbox.length >= 100, `${outbox.length} wait`);

  const first = tier.requests.length;
  await ways[way].end();
  // Slow responses make a burst of requests visible, and slower ones the former level, however slowly they are sent.
  const hasReturned = () => tier.requests.slice(first).some(({ inFlight }) => inFlight >= concurrency / 2);
  tier.answer = async () => {
    const startMs = performance.now();
    const isReady = () => performance.now() - startMs >= (hasReturned() ? 20 : 300);
    await until(isReady, { what: "its work is done", intervalMs: 10 });
    return { status: 200 };
  };
  await fixture.drained();
  const returned = tier.requests.slice(first);
  const [probe] = returned;
  assert.ok(probe);
  const most = Math.max(...returned.map(({ inFlight }) => inFlight));
  t.diagnostic(`${returned.length} requests after the return, at most ${most} in flight`);
  for (const { inFlight, answeredBefore } of returned) {
    const answers = answeredBefore - probe.answeredBefore;
    const allowed = Math.min(concurrency, answers + 1);
    assert.ok(inFlight <= allowed, `${inFlight} in flight after ${answers} answers`);
  }
  // One tenant gets half of the concurrency.
  assert.ok(most >= concurrency / 2, "the load returns to its former level");
  tier.answer = () => ({ status: 200 });
  assert.equal(breakerStates().at(-1), "closed");
  await deliveries.check();
  t.diagnostic(intake.summary());
  assert.deepEqual((await readStore(databaseUrl)).dead, []);
});
