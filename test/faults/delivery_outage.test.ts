/** The actions tier is away for hours, as the database's clock has it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { until } from "../support/until.ts";
import { deliveryStand } from "../support/faults/delivery_stand.ts";
import { readDeliveries } from "../support/faults/delivery_store.ts";
import { leadBody } from "../support/faults/load.ts";
import { type Chance, chanceOf, rounds } from "../support/faults/random.ts";
import { withSql } from "../support/faults/store.ts";
import type { IssuedKey } from "../support/world.ts";

const concurrency = 16;
const stand = await deliveryStand({
  env: {
    // With so few, an outage that spent attempts would have killed every lead.
    DELIVERY_ATTEMPTS_MAX: "2",
    DELIVERY_CONCURRENCY: String(concurrency),
    DELIVERY_SEND_TIMEOUT_MS: "1000",
  },
});
const { databaseUrl, deliveries, intake, tier } = stand;
const service = await stand.start();
const key = await stand.routed();
const hour = 3_600;

/** How the tier can be away. */
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

async function accept(chance: Chance, count: number, from: IssuedKey = key): Promise<void> {
  for (let n = 1; n <= count; n++) {
    const request = { apiKey: from.text, idempotencyKey: intake.freshKey("out"), body: leadBody(chance, n) };
    assert.equal((await intake.post(service.url, request)).kind, "accepted");
  }
}

const breakerStates = () =>
  service.logs.filter(({ event }) => event === "breaker").map(({ state }) => String(state));

const spentAttempts = async () => {
  const { attempts } = await readDeliveries(databaseUrl);
  return attempts.filter(({ spent, outcome }) => spent && outcome !== "delivered").length;
};

/** Claimed, and not settled. */
async function inFlight(): Promise<number> {
  const [row] = await withSql(databaseUrl, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int as count from outbox where lease is not null`);
  return row?.count ?? 0;
}

/** The tier is tried and found away, once more. */
async function probed(): Promise<void> {
  const failures = async () => {
    const { text } = await get(`${service.urls.ops}/metrics`);
    return [...text.matchAll(/^lead_tier_failures_total\{.*\} (\d+)$/gm)]
      .reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await failures();
  await until(async () => await failures() > before, { deadlineMs: 25_000, what: "a probe fails" });
}

test("the actions tier is away for hours: no attempt is spent while the breaker is open, nothing dies, and when it is back the load rises step by step", async (t) => {
  const chance = chanceOf(t);
  const names = Object.keys(ways) as (keyof typeof ways)[];
  for (let round = 1; round <= rounds(1); round++) {
    const way = chance.pick(names);
    t.diagnostic(`the tier ${way}`);
    await accept(chance, 20);
    await stand.drained();

    const before = await spentAttempts();
    await ways[way].begin();
    await accept(chance, 40);
    await until(() => breakerStates().at(-1) === "open", { what: "the breaker opens" });
    await probed();
    // What was in flight when it opened counts too, however late it is settled.
    await until(async () => await inFlight() === 0, { what: "what was in flight is settled" });
    const spent = await spentAttempts();
    // Each before the breaker knew, and what was in flight with it.
    assert.ok(
      spent - before <= concurrency,
      `${spent - before} attempts were spent before the breaker opened`,
    );
    for (const hours of [1, 5, 48]) {
      await stand.pass(hours * hour);
      await accept(chance, 20);
      if (hours === 5) await probed();
    }
    const { attempts, dead, outbox } = await readDeliveries(databaseUrl);
    const spentMeanwhile = attempts.filter((one) => one.spent && one.outcome !== "delivered").length - spent;
    assert.equal(spentMeanwhile, 0, "no attempt is spent while the breaker is open");
    assert.deepEqual(dead, []);
    assert.ok(outbox.length >= 100, `${outbox.length} wait`);

    const first = tier.requests.length;
    await ways[way].end();
    // Slow enough that a herd would be seen as one.
    tier.answer = async () => {
      const readyAtMs = performance.now() + 20;
      await until(() => performance.now() >= readyAtMs, { what: "its work is done", intervalMs: 10 });
      return { status: 200 };
    };
    await stand.drained();
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
    // A tenant alone gets half of what is allowed.
    assert.ok(most >= concurrency / 2, "in the end the load is what it was");
    tier.answer = () => ({ status: 200 });
    assert.equal(breakerStates().at(-1), "closed");
  }
  const figures = await deliveries.check();
  t.diagnostic(`${intake.summary()}; ${JSON.stringify(figures)}`);
  assert.equal(figures.dead, 0);
});
