/** The wall clocks of the processes are an hour off, each another way. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { before, test } from "node:test";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { actionsStand } from "../support/faults/delivery_stand.ts";
import { readDeliveries } from "../support/faults/delivery_store.ts";
import { leadBody } from "../support/faults/load.ts";
import { chanceOf, rounds } from "../support/faults/random.ts";
import { withSql } from "../support/faults/store.ts";
import type { IssuedKey } from "../support/world.ts";

const hourMs = 3_600_000;
// Both ways in the long run.
const offsMs = rounds(1) > 1 ? [hourMs, -hourMs] : [randomInt(2) === 0 ? hourMs : -hourMs];
const off = (ms: number) => ({
  NODE_OPTIONS: `--import=${new URL("../../scripts/prove/clock_off.ts", import.meta.url).href}`,
  CLOCK_OFF_MS: String(ms),
});
const leaseMs = 3_000;
const baseMs = 400;
// What a process on a busy machine may wait for its turn: far less than the clocks are off.
const slackMs = 20_000;

const stand = await actionsStand({
  env: {
    DELIVERY_LEASE_MS: String(leaseMs),
    DELIVERY_SEND_TIMEOUT_MS: "2500",
    DELIVERY_BACKOFF_BASE_MS: String(baseMs),
    DELIVERY_BACKOFF_CAP_MS: String(3 * baseMs),
    // One by one, so that the order can be seen.
    DELIVERY_CONCURRENCY: "1",
  },
  actionsEnv: { ACTIONS_EFFECT_TIMEOUT_MS: "1000", ...off(2 * hourMs) },
});
const { crm, databaseUrl, deliveries, intake, smtp, tier } = stand;
const passOn = tier.answer;
let key: IssuedKey;
before(async () => {
  key = await stand.routed();
});

const start = (offMs: number) => stand.start(off(offMs));
const check = () => deliveries.check({ calls: crm.calls, mails: smtp.messages });

async function accept(service: RunningServer, body: string): Promise<string> {
  const outcome = await intake.post(service.url, {
    ...{ apiKey: key.text, idempotencyKey: intake.freshKey("lead"), body },
  });
  assert.equal(outcome.kind, "accepted");
  return outcome.kind === "accepted" ? outcome.eventId : "";
}

/** How long a claimed event stays with its process, by the database's clock. */
async function leaseLeftMs(eventId: string): Promise<number> {
  const [row] = await withSql(databaseUrl, (sql) =>
    sql<{ left_ms: number }[]>`
      select 1000 * extract(epoch from lease_until - service_clock())::float8 as left_ms
      from outbox where event_id = ${eventId} and lease is not null`);
  return row?.left_ms ?? NaN;
}

for (const offMs of offsMs) {
  const way = offMs > 0 ? "ahead" : "behind";

  test(`the service's clock is an hour ${way}: received_at, order and backoff are right by the database's`, async (t) => {
    const chance = chanceOf(t);
    const service = await start(offMs);
    const loggedMs = Date.parse(String(service.logs[0]?.time)) - Date.now();
    assert.ok(Math.abs(loggedMs - offMs) < 60_000, `its clock is off: ${loggedMs} ms`);
    const refused = new Map<string, number>();
    tier.answer = (request) => {
      const times = refused.get(request.eventId) ?? 0;
      refused.set(request.eventId, times + 1);
      return times < 3 ? { status: 424, text: '{"error":"effects_failed","effects":{}}' } : passOn(request);
    };
    const first = tier.requests.length;
    const ids: string[] = [];
    for (let n = 1; n <= 5; n++) ids.push(await accept(service, leadBody(chance, n)));
    await until(() => ids.every((id) => tier.taken.has(id)), { deadlineMs: 120_000, what: "all are taken" });

    const { attempts, events } = await readDeliveries(databaseUrl);
    for (const { eventId, receivedAt } of events.filter(({ eventId }) => ids.includes(eventId))) {
      assert.ok(Math.abs(Date.parse(receivedAt) - Date.now()) < 60_000, `${eventId} at ${receivedAt}`);
    }
    const firsts = tier.requests.slice(first).filter(({ attempt }) => attempt === 1);
    assert.deepEqual(firsts.map(({ eventId }) => eventId), ids, "in the order in which they were accepted");
    const waitsMs = ids.flatMap((id) => {
      const own = attempts.filter(({ eventId }) => eventId === id);
      return own.slice(1).map((one, n) => ({ n, ms: one.atMs - (own[n]?.atMs ?? 0) }));
    });
    t.diagnostic(`waits: ${waitsMs.map(({ ms }) => Math.round(ms)).join(", ")} ms`);
    for (const { n, ms } of waitsMs) {
      const full = Math.min(3 * baseMs, baseMs * 3 ** n);
      assert.ok(ms >= full / 2 && ms < full + slackMs, `wait ${n + 1} took ${ms} ms`);
    }
    tier.answer = passOn;
    await service.stop();
    await stand.drained();
    await check();
  });
}

for (const offMs of offsMs) {
  const ways = offMs > 0 ? ["behind", "ahead"] : ["ahead", "behind"];

  test(`a service whose clock is an hour ${ways[0]} is killed while it sends: one whose clock is an hour ${ways[1]} takes over when the lease ends by the database's, neither sooner nor later`, async (t) => {
    const killed = await start(-offMs);
    tier.answer = () => "hang";
    const acceptedAtMs = performance.now();
    const id = await accept(killed, leadBody(chanceOf(t), 1));
    await until(() => tier.of(id).length === 1, { what: "the send hangs" });
    const askedAtMs = performance.now();
    const leftMs = await leaseLeftMs(id);
    const readAtMs = performance.now();
    assert.ok(leftMs <= leaseMs && leftMs >= leaseMs - (readAtMs - acceptedAtMs), `${leftMs} ms are left`);
    let startedAtMs = 0;
    let service: RunningServer | undefined;
    await deliveries.kill("service", {
      end: () => killed.kill(),
      begin: async () => {
        tier.answer = passOn;
        service = await start(offMs);
        startedAtMs = performance.now();
      },
    });
    await until(() => tier.taken.has(id), { deadlineMs: 60_000, what: "the other one sends it" });
    await stand.drained();
    await service?.stop();
    const [, second] = tier.of(id);
    const sentAtMs = second?.atMs ?? 0;
    // Starting may take longer than what is left of the lease, and it sends before it says that it has started.
    const lateMs = sentAtMs - Math.max(readAtMs + leftMs, startedAtMs);
    t.diagnostic(`sent ${Math.round(lateMs)} ms after the lease had ended`);
    assert.ok(lateMs < slackMs, `sent ${lateMs} ms after the lease had ended`);
    // By this clock it ended at some time from when it was asked for on.
    const earlyMs = askedAtMs + leftMs - sentAtMs;
    assert.ok(earlyMs < 100, `sent ${earlyMs} ms before the lease had ended`);
    await check();
  });
}

test("the actions process is killed in the middle of an effect: one whose clock is hours ahead leaves the effect alone until its lease ends by the database's", async (t) => {
  const service = await start(-hourMs);
  const { answer } = crm;
  crm.answer = () => {};
  const id = await accept(service, leadBody(chanceOf(t), 1));
  const calls = () => crm.calls.filter(({ headers }) => headers["webhook-id"] === id).length;
  await until(() => calls() === 1, { what: "the CRM is called" });
  await deliveries.kill("actions", {
    end: () => stand.actions.kill(),
    begin: () => stand.startActions(),
  });
  crm.answer = answer;
  const before = tier.of(id).length;
  await until(() => tier.of(id).slice(before).some(({ said }) => said === 424), {
    what: "it is in progress",
  });
  assert.equal(calls(), 1);
  // The lease of an effect: its bound and ten seconds.
  await stand.pass(15);
  await until(() => tier.taken.has(id), { deadlineMs: 60_000, what: "it is done" });
  assert.equal(calls(), 2);
  await stand.drained();
  await service.stop();
  await check();
});
