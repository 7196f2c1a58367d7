/** Tests processes whose wall clocks are an hour off in different directions. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { before, test } from "node:test";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { actionsFixture } from "../support/faults/delivery_fixture.ts";
import { leadBody } from "../support/faults/load.ts";
import { randomOf } from "../support/faults/random.ts";
import { withSql } from "../support/database.ts";
import { readStore } from "../support/faults/store.ts";
import type { IssuedKey } from "../support/test_env.ts";

const hourMs = 3_600_000;
const offMs = randomInt(2) === 0 ? hourMs : -hourMs;
const [way, other] = offMs > 0 ? ["ahead", "behind"] : ["behind", "ahead"];
const off = (ms: number) => ({
  NODE_OPTIONS: `--import=${new URL("../../scripts/prove/shift_clock.ts", import.meta.url).href}`,
  CLOCK_OFFSET_MS: String(ms),
});
const leaseMs = 11_000;
const baseMs = 400;
// Slack for a busy machine, far below the clocks' error.
const slackMs = 20_000;

const fixture = await actionsFixture({
  env: {
    DELIVERY_LEASE_MS: String(leaseMs),
    DELIVERY_SEND_TIMEOUT_MS: "10000",
    DELIVERY_BACKOFF_BASE_MS: String(baseMs),
    DELIVERY_BACKOFF_CAP_MS: String(3 * baseMs),
  },
  actionsEnv: { ACTIONS_EFFECT_TIMEOUT_MS: "5000", ...off(2 * hourMs) },
});
const { crm, databaseUrl, deliveries, intake, smtp, tier } = fixture;
const passOn = tier.answer;
let key: IssuedKey;
before(async () => {
  key = await fixture.routed();
});

const start = (offMs: number) => fixture.start(off(offMs));
const check = () => deliveries.check({ calls: crm.calls, mails: smtp.messages });

async function accept(service: RunningServer, body: string): Promise<string> {
  const outcome = await intake.post(service.url, {
    apiKey: key.text,
    idempotencyKey: intake.freshKey("lead"),
    body,
  });
  assert.equal(outcome.kind, "accepted");
  return outcome.kind === "accepted" ? outcome.eventId : "";
}

/** Returns the rest of an event's lease by the database's clock. */
async function leaseLeftMs(eventId: string): Promise<number> {
  const [row] = await withSql(databaseUrl, (sql) =>
    sql<{ left_ms: number }[]>`
      select 1000 * extract(epoch from lease_until - service_clock())::float8 as left_ms
      from outbox where event_id = ${eventId} and lease is not null`);
  return row?.left_ms ?? NaN;
}

test(`with a service clock an hour ${way}, received_at, order and backoff follow the database's clock`, async (t) => {
  const chance = randomOf(t);
  const service = await start(offMs);
  const loggedMs = Date.parse(String(service.logs[0]?.time)) - Date.now();
  assert.ok(Math.abs(loggedMs - offMs) < 60_000, `its clock is off: ${loggedMs} ms`);
  const refused = new Map<string, number>();
  tier.answer = (request) => {
    const times = refused.get(request.eventId) ?? 0;
    refused.set(request.eventId, times + 1);
    return times < 3 ? { status: 424, text: '{"error":"effects_failed","effects":{}}' } : passOn(request);
  };
  const ids: string[] = [];
  for (let n = 1; n <= 5; n++) ids.push(await accept(service, leadBody(chance, n)));
  await until(() => ids.every((id) => tier.taken.has(id)), { deadlineMs: 120_000, what: "all are taken" });

  const { attempts, events } = await readStore(databaseUrl);
  for (const { eventId, receivedAt } of events.filter(({ eventId }) => ids.includes(eventId))) {
    assert.ok(Math.abs(Date.parse(receivedAt) - Date.now()) < 60_000, `${eventId} at ${receivedAt}`);
  }
  assert.deepEqual(ids.toSorted(), ids, "ids sort in the order of acceptance");
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
  await fixture.drained();
  await check();
});

test(`after a service with a clock an hour ${other} is killed, one an hour ${way} takes over when the lease ends by the database's clock`, async (t) => {
  const killed = await start(-offMs);
  tier.answer = () => "hang";
  const acceptedAtMs = performance.now();
  const id = await accept(killed, leadBody(randomOf(t), 1));
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
  await fixture.drained();
  await service?.stop();
  const [, second] = tier.of(id);
  const sentAtMs = second?.atMs ?? 0;
  // Starting may outlast the lease, and the send precedes the log line of the start.
  const lateMs = sentAtMs - Math.max(readAtMs + leftMs, startedAtMs);
  t.diagnostic(`sent ${Math.round(lateMs)} ms after the lease had ended`);
  assert.ok(lateMs < slackMs, `sent ${lateMs} ms after the lease had ended`);
  // The lease ended at some time after it was read.
  const earlyMs = askedAtMs + leftMs - sentAtMs;
  assert.ok(earlyMs < 100, `sent ${earlyMs} ms before the lease had ended`);
  await check();
});

test("after the actions process is killed during an effect, one with a clock hours ahead waits for the lease to end by the database's clock", async (t) => {
  const service = await start(-hourMs);
  const { answer } = crm;
  crm.answer = () => {};
  const id = await accept(service, leadBody(randomOf(t), 1));
  const calls = () => crm.calls.filter(({ headers }) => headers["webhook-id"] === id).length;
  await until(() => calls() === 1, { what: "the CRM is called" });
  await deliveries.kill("actions", {
    end: () => fixture.actions.kill(),
    begin: () => fixture.startActions(),
  });
  crm.answer = answer;
  const before = tier.of(id).length;
  await until(() => tier.of(id).slice(before).some(({ said }) => said === 424), {
    what: "it is in progress",
  });
  assert.equal(calls(), 1);
  // An effect's lease is its timeout plus ten seconds.
  await fixture.pass(20);
  await until(() => tier.taken.has(id), { deadlineMs: 60_000, what: "it is done" });
  assert.equal(calls(), 2);
  await fixture.drained();
  await service.stop();
  await check();
});
