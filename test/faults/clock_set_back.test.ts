/** Tests that nothing waits for the time that the database's clock showed before it was set back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { leadBody } from "../support/faults/load.ts";
import { randomOf } from "../support/faults/random.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { runCtl, type RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { withSql } from "../support/database.ts";

const threeDaysS = 3 * 86_400;
// A refused lead is not dead, however long the rest of a test takes.
const fixture = await deliveryFixture({
  env: { OPS_LISTEN: "127.0.0.1:0", DELIVERY_ATTEMPTS_MAX: "10000" },
});
const { databaseUrl, tier } = fixture;
const refused = { status: 424, text: '{"error":"effects_failed","effects":{"crm":"failed: status_500"}}' };
const taken = tier.answer;

async function post(service: RunningServer, apiKey: string, body: string, status = 202): Promise<string> {
  const response = await fetch(`${service.url}/v1/intake`, {
    method: "POST",
    headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
    body,
  });
  assert.equal(response.status, status);
  const { event_id: id } = await response.json() as { event_id: string };
  return id;
}

const outbox = () =>
  withSql(databaseUrl, (sql) =>
    sql<{ id: string; made: number; leased: boolean; aheadS: number }[]>`
      select event_id as id, made, lease is not null as leased,
        extract(epoch from greatest(due_at, lease_until) - service_clock())::float8 as "aheadS"
      from outbox order by event_id`);

/** How far the clock is set back, and whether the events from before are then within the content window of 24 hours. */
const setBacks = [
  { how: "12 hours", setBackS: 12 * 3_600, isDuplicate: true },
  { how: "3 days", setBackS: threeDaysS, isDuplicate: false },
];

for (const { how, setBackS, isDuplicate } of setBacks) {
  test(`leads that wait, are being sent or are posted again arrive after the clock was set back by ${how}`, async (t) => {
    const { text: key } = await fixture.routed();
    const chance = randomOf(t);
    const bodies = Array.from({ length: 3 }, (_, n) => leadBody(chance, n));
    const [waitingBody = "", hangingBody = "", laterBody = ""] = bodies;
    const first = await fixture.start();
    await fixture.pass(setBackS);
    let hanging = "";
    tier.answer = ({ eventId }) => eventId === hanging ? "hang" : refused;
    const waiting = await post(first, key, waitingBody);
    await until(async () => (await outbox()).some(({ made, leased }) => made > 2 && !leased), {
      what: "it waits",
    });
    tier.answer = ({ eventId }) => eventId === waiting ? refused : "hang";
    hanging = await post(first, key, hangingBody);
    await until(() => tier.of(hanging).length === 1, { what: "the other one is being sent" });
    await first.kill();

    await fixture.pass(-setBackS);
    // Only the lead that waits has to be there until the metric, the console and doctor were read.
    tier.answer = (request) => request.eventId === waiting ? refused : taken(request);
    const before = await outbox();
    assert.deepEqual(before.map(({ id }) => id), [waiting, hanging].sort());
    for (const { aheadS } of before) assert.ok(aheadS > setBackS - 600);
    const second = await fixture.start();
    const metric = async () => {
      const text = await (await fetch(`${second.urls.ops}/metrics`)).text();
      return Number(/^lead_outbox_oldest_pending_age_seconds (\S+)/m.exec(text)?.[1]);
    };
    await until(async () => await metric() > setBackS - 600, { what: "the metric shows it" });
    const console = await (await fetch(`${second.urls.ops}/`, { headers: { Accept: "text/html" } })).text();
    assert.match(console, /clock was set back/);
    assert.doesNotMatch(console, /All is well/);
    const doctor = await runCtl(["doctor", "--json"], { databaseUrl });
    assert.match(
      doctor.stdout,
      /the newest event was accepted [\d,]+ s from now: the database's clock was set back/,
    );

    tier.answer = taken;
    const again = await post(second, key, waitingBody, isDuplicate ? 200 : 202);
    assert.equal(again === waiting, isDuplicate);
    const later = await post(second, key, laterBody);
    await until(() => [waiting, hanging, again, later].every((id) => tier.taken.has(id)), {
      deadlineMs: 120_000,
      what: "all arrive",
    });
    await until(async () => (await outbox()).length === 0, { what: "all are settled" });
    assert.equal(await post(second, key, laterBody, 200), later);
    assert.equal(tier.of(hanging).length, 2);
    await second.stop();
  });
}

test("a send in progress when the clock is set back is not repeated", async (t) => {
  const { text: key } = await fixture.routed();
  await fixture.pass(threeDaysS);
  // The service looks for such leases twice as often as they last, and the send must not time out before.
  const service = await fixture.start({ DELIVERY_LEASE_MS: "40000", DELIVERY_SEND_TIMEOUT_MS: "39000" });
  const rest = Promise.withResolvers<void>();
  tier.answer = async (request) => {
    await rest.promise;
    return await taken(request);
  };
  const id = await post(service, key, leadBody(randomOf(t), 1));
  await until(() => tier.of(id).length === 1, { what: "it is being sent" });
  await fixture.pass(-threeDaysS);
  await until(async () => (await outbox()).every(({ aheadS }) => aheadS < 600), {
    what: "its lease is shortened",
  });
  rest.resolve();
  await until(async () => (await outbox()).length === 0, { what: "it is settled" });
  assert.equal(tier.of(id).length, 1);
  await service.stop();
});
