/** Tests a lead that its CRM always refuses and a CRM that never responds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import type { IssuedKey } from "../support/test_env.ts";
import { until } from "../support/until.ts";
import { actionsFixture } from "../support/faults/delivery_fixture.ts";
import { readStore } from "../support/faults/store.ts";
import { leadBody } from "../support/faults/load.ts";
import { randomOf } from "../support/faults/random.ts";

const attemptsMax = 4;

// The timeouts are long, so that only the tests end a hanging call.
const fixture = await actionsFixture({
  env: {
    DELIVERY_ATTEMPTS_MAX: String(attemptsMax),
    DELIVERY_SEND_TIMEOUT_MS: "130000",
    DELIVERY_LEASE_MS: "140000",
  },
  actionsEnv: { ACTIONS_EFFECT_TIMEOUT_MS: "60000" },
});
const { crm, databaseUrl, deliveries, intake, smtp, tier } = fixture;
const service = await fixture.start();

/** The calls that the CRM accepted. */
const taken: (typeof crm.calls)[number][] = [];
let hanging: (() => void)[] = [];
let hangs = true;
crm.answer = (response, call) => {
  const isPoison = call.body.includes('"last_name":"Poison"');
  const answer = () => {
    if (!isPoison) taken.push(call);
    status(isPoison ? 400 : 204)(response);
  };
  const isRepeat =
    crm.calls.filter(({ headers }) => headers["webhook-id"] === call.headers["webhook-id"]).length > 1;
  if (hangs && (call.url === "/hangs" || isPoison && isRepeat)) hanging.push(answer);
  else answer();
};
function release(): void {
  hangs = false;
  for (const answer of hanging) answer();
  hanging = [];
}
/** Checks the history of all tests so far. */
const check = () => deliveries.check({ calls: taken, mails: smtp.messages });

async function accept(key: IssuedKey, body: string): Promise<string> {
  const outcome = await intake.post(service.url, {
    apiKey: key.text,
    idempotencyKey: intake.freshKey("lead"),
    body,
  });
  assert.equal(outcome.kind, "accepted");
  return outcome.kind === "accepted" ? outcome.eventId : "";
}

const arrived = (eventIds: readonly string[]) =>
  until(() => eventIds.every((id) => taken.some(({ headers }) => headers["webhook-id"] === id)), {
    deadlineMs: 120_000,
    what: "the other leads reach their CRM",
  });

test("a lead that the CRM always refuses is dead after its attempts, mailed once, and delays no other lead of its tenant", async (t) => {
  const chance = randomOf(t);
  const key = await fixture.routed();
  const poison: string[] = [];
  const others: string[] = [];
  for (let n = 1; n <= 30; n++) {
    // Three, because their second attempts hang, and a tenant alone may have four requests in flight.
    if (n % 10 === 1) {
      poison.push(await accept(key, '{"first_name":"Bitter","last_name":"Poison","phone":"5551234567"}'));
    }
    others.push(await accept(key, leadBody(chance, n)));
  }
  // Every rejected lead still has attempts left: the answer to its second one waits.
  await arrived(others);
  release();
  await fixture.drained();
  const { attempts, dead } = await readStore(databaseUrl);
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

test("a tenant whose CRM never responds delays no other tenant", async (t) => {
  const chance = randomOf(t);
  hangs = true;
  const silent = await fixture.routed({ crmUrl: `https://127.0.0.1:${crm.port}/hangs` });
  const others = [await fixture.routed(), await fixture.routed()];
  const hung: string[] = [];
  for (let n = 1; n <= 60; n++) hung.push(await accept(silent, leadBody(chance, n)));
  await until(() => crm.calls.filter(({ url }) => url === "/hangs").length >= 4, { what: "calls hang" });
  const prompt: string[] = [];
  for (let n = 1; n <= 20; n++) {
    prompt.push(await accept(chance.pick(others), leadBody(chance, n)));
    // One at a time, so that each one competes with the hanging calls.
    await arrived(prompt.slice(-1));
  }
  const { attempts } = await readStore(databaseUrl);
  const answered = attempts.filter(({ eventId }) => hung.includes(eventId));
  assert.deepEqual(answered, [], "no hanging call has ended");
  release();
  await fixture.drained();
  await check();
});

test("a lead that kills the actions tier at each attempt dies, and other leads are delivered", async (t) => {
  const chance = randomOf(t);
  const key = await fixture.routed();
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
    await arrived(others.slice(-1));
  }
  await fixture.drained();
  const { attempts, dead } = await readStore(databaseUrl);
  assert.ok([...dead].includes(killer));
  assert.deepEqual(others.filter((id) => [...dead].includes(id)), []);
  const own = attempts.filter(({ eventId }) => eventId === killer);
  assert.deepEqual(
    own.map(({ outcome, spent }) => [outcome, spent]),
    Array(attemptsMax).fill(["unreachable", true]),
  );
  t.diagnostic(`${kills} kills, ${others.length} others delivered meanwhile`);
});
