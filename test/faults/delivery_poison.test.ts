/** A lead that its CRM will never take, and a CRM that never answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import type { IssuedKey } from "../support/world.ts";
import { until } from "../support/until.ts";
import { actionsStand } from "../support/faults/delivery_stand.ts";
import { readDeliveries } from "../support/faults/delivery_store.ts";
import { leadBody } from "../support/faults/load.ts";
import { chanceOf } from "../support/faults/random.ts";

const attemptsMax = 4;
const effectTimeoutMs = 8_000;
// Alone it takes some milliseconds; behind anything that hangs it would take an effect's timeout.
const promptMs = 6_000;

const stand = await actionsStand({
  env: {
    DELIVERY_ATTEMPTS_MAX: String(attemptsMax),
    DELIVERY_SEND_TIMEOUT_MS: "16500",
    DELIVERY_LEASE_MS: "17000",
  },
  actionsEnv: { ACTIONS_EFFECT_TIMEOUT_MS: String(effectTimeoutMs) },
});
const { crm, databaseUrl, deliveries, intake, smtp, tier } = stand;
const service = await stand.start();

/** What the CRM said yes to, and when. */
const taken: { readonly call: (typeof crm.calls)[number]; readonly atMs: number }[] = [];
let hangs = true;
crm.answer = (response, call) => {
  if (call.url === "/hangs" && hangs) return;
  if (call.body.includes('"last_name":"Poison"')) return status(400)(response);
  taken.push({ call, atMs: performance.now() });
  status(204)(response);
};
/** Of every test so far. */
const check = () => deliveries.check({ calls: taken.map(({ call }) => call), mails: smtp.messages });

async function accept(key: IssuedKey, body: string): Promise<string> {
  const outcome = await intake.post(service.url, {
    ...{ apiKey: key.text, idempotencyKey: intake.freshKey("lead"), body },
  });
  assert.equal(outcome.kind, "accepted");
  return outcome.kind === "accepted" ? outcome.eventId : "";
}

/** From the 202 to the CRM's call, of each of these events. */
async function delaysMs(eventIds: readonly string[]): Promise<number[]> {
  const callOf = (id: string) => taken.find(({ call }) => call.headers["webhook-id"] === id);
  await until(() => eventIds.every((id) => callOf(id) !== undefined), {
    deadlineMs: 30_000,
    what: "every lead of the others reaches its CRM",
  });
  return eventIds.map((id) => {
    const entry = intake.entries.find(({ outcome }) =>
      outcome?.kind === "accepted" && outcome.eventId === id
    );
    return (callOf(id)?.atMs ?? Infinity) - (entry?.sentAtMs ?? 0) - (entry?.durationMs ?? 0);
  });
}

test("a lead for which the CRM answers 400 for ever is dead after its attempts, mailed once, and holds up no other lead of its tenant", async (t) => {
  const chance = chanceOf(t);
  const key = await stand.routed();
  const poison: string[] = [];
  const others: string[] = [];
  for (let n = 1; n <= 30; n++) {
    if (n % 6 === 1) {
      poison.push(await accept(key, '{"first_name":"Bitter","last_name":"Poison","phone":"5551234567"}'));
    }
    others.push(await accept(key, leadBody(chance, n)));
  }
  const slowest = Math.max(...await delaysMs(others));
  t.diagnostic(`the slowest of the others took ${Math.round(slowest)} ms`);
  assert.ok(slowest < promptMs);
  await stand.drained();
  const { attempts, dead } = await readDeliveries(databaseUrl);
  assert.deepEqual([...dead].sort(), [...poison].sort());
  for (const id of poison) {
    assert.deepEqual(
      attempts.filter((one) => one.eventId === id).map(({ outcome, status, reason }) =>
        `${outcome} ${status} ${reason}`
      ),
      Array.from({ length: attemptsMax }, () => "refused 424 crm failed: http_400"),
    );
    assert.equal(tier.of(id).length, attemptsMax);
    assert.equal(smtp.messages.filter(({ raw }) => raw.includes(`<${id}@`)).length, 1, "mailed once");
  }
  await check();
});

test("a tenant whose CRM never answers delays no other tenant, however much of it waits", async (t) => {
  const chance = chanceOf(t);
  const hanging = await stand.routed({ crmUrl: `https://127.0.0.1:${crm.port}/hangs` });
  const others = [await stand.routed(), await stand.routed()];
  const hung: string[] = [];
  for (let n = 1; n <= 60; n++) hung.push(await accept(hanging, leadBody(chance, n)));
  await until(() => crm.calls.filter(({ url }) => url === "/hangs").length >= 4, { what: "calls hang" });
  const prompt: string[] = [];
  for (let n = 1; n <= 20; n++) {
    prompt.push(await accept(chance.pick(others), leadBody(chance, n)));
    // One at a time, so that each meets the hanging ones anew.
    await delaysMs(prompt.slice(-1));
  }
  const slowest = Math.max(...await delaysMs(prompt));
  const { attempts } = await readDeliveries(databaseUrl);
  const untried = hung.filter((id) => !attempts.some(({ eventId }) => eventId === id)).length;
  t.diagnostic(`the slowest of the others took ${Math.round(slowest)} ms; ${untried} had no answer yet`);
  assert.ok(slowest < promptMs);
  assert.ok(untried > 0, "much of it waited all the time");
  hangs = false;
  await stand.drained();
  await check();
});

test("a lead that kills the actions tier each time dies of it, and the leads of others are delivered", async (t) => {
  const chance = chanceOf(t);
  const key = await stand.routed();
  const pass = tier.answer;
  let kills = 0;
  tier.answer = async (request) => {
    if (!request.text.includes('"last_name":"Killer"')) return await pass(request);
    kills += 1;
    await tier.down();
    await tier.up();
    return "cut";
  };
  t.after(() => tier.answer = pass);
  const killer = await accept(key, '{"first_name":"Silent","last_name":"Killer","phone":"5551234567"}');
  const others: string[] = [];
  while (kills < attemptsMax) {
    others.push(await accept(key, leadBody(chance, others.length + 1)));
    await delaysMs(others.slice(-1));
  }
  await stand.drained();
  const { attempts, dead } = await readDeliveries(databaseUrl);
  assert.ok([...dead].includes(killer));
  assert.deepEqual(others.filter((id) => [...dead].includes(id)), []);
  const own = attempts.filter(({ eventId }) => eventId === killer);
  assert.deepEqual(
    own.map(({ outcome, spent }) => [outcome, spent]),
    Array(attemptsMax).fill(["unreachable", true]),
  );
  t.diagnostic(`${kills} kills, ${others.length} others delivered meanwhile`);
});
