/** Tests pauses from the post to the recipients, with a restart of the service while a tenant is paused. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { actionsFixture } from "../support/faults/delivery_fixture.ts";
import { ctl } from "../support/server.ts";
import type { IssuedKey } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const fixture = await actionsFixture();
const { databaseUrl, testEnv, crm, smtp } = fixture;
let service = await fixture.start();
const on = { databaseUrl };

beforeEach(() => {
  crm.answer = status(204);
});

const callsOf = (eventId: string) =>
  crm.calls.filter((call) => call.headers["webhook-id"] === eventId).length;
const mailsOf = (eventId: string) =>
  smtp.messages.filter(({ raw }) => raw.includes(`<${eventId}@intake.example>`)).length;

const pause = (verb: "pause" | "resume", key: IssuedKey, ...options: string[]) =>
  ctl(["tenant", verb, key.tenant.slug, ...options], on);

const post = (key: IssuedKey) => testEnv.accept(key, {}, service);

const deliveryOf = async (eventId: string) => (await ctl(["lead", "show", eventId], on)).delivery;

/** Asserts that an event waits because of a pause and that no attempt was spent. */
async function assertWaits(eventId: string): Promise<void> {
  const { state, reason, attempts } = await deliveryOf(eventId);
  assert.deepEqual([state, reason, attempts], ["pending", "paused", []]);
}

const delivered = (eventId: string) =>
  until(async () => (await deliveryOf(eventId)).state === "delivered", { what: `${eventId} is delivered` });

test("a paused tenant's leads get 202, wait over a restart without an attempt, and go at once on resume", async () => {
  const [key, other] = [await fixture.routed(), await fixture.routed()];
  await pause("pause", key, "--reason", "until Monday");
  const waiting = [await post(key), await post(key)];
  await delivered(await post(other));
  await service.stop();
  service = await fixture.start();
  waiting.push(await post(key));
  await delivered(await post(other));
  await fixture.pass(3 * 86_400);
  await delivered(await post(other));
  for (const eventId of waiting) {
    await assertWaits(eventId);
    assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [0, 0]);
  }
  await pause("resume", key);
  for (const eventId of waiting) {
    await delivered(eventId);
    assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
    assert.equal((await deliveryOf(eventId)).attempts.length, 1);
  }
});

test("while its email is paused, a tenant's CRM gets each lead, and the email follows on resume", async () => {
  const key = await fixture.routed();
  await pause("pause", key, "--email");
  const eventId = await post(key);
  await until(() => callsOf(eventId) === 1);
  // For half a minute after a change of its routes, a tenant's waiting events are tried again and again.
  await until(() => assertWaits(eventId).then(() => true));
  await pause("resume", key, "--email");
  await delivered(eventId);
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
});

test("a failing CRM is retried at its own pace while the email is paused", async () => {
  const key = await fixture.routed();
  await pause("pause", key, "--email");
  crm.answer = status(500);
  const eventId = await post(key);
  await until(() => callsOf(eventId) >= 3, { what: "the CRM is called again" });
  const { attempts } = await deliveryOf(eventId);
  assert.match(attempts[0].reason, /^email waiting: paused; crm failed: http_500$/);
  crm.answer = status(204);
  await until(async () => (await deliveryOf(eventId)).reason === "paused");
  assert.equal(mailsOf(eventId), 0);
  await pause("resume", key, "--email");
  await delivered(eventId);
  assert.equal(mailsOf(eventId), 1);
});

test("a CRM's refusal for good is visible while the email is paused, and the lead dies when the email is sent", async () => {
  const key = await fixture.routed();
  await pause("pause", key, "--email");
  crm.answer = status(410);
  const eventId = await post(key);
  const reason = "email waiting: paused; crm failed: http_410";
  await until(async () => {
    const { found: [{ what_happened: happened }] } = await ctl(["find", eventId], on);
    return happened === `accepted, waiting (${reason})`;
  });
  await pause("resume", key, "--email");
  await until(async () => (await deliveryOf(eventId)).state === "dead");
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
  crm.answer = status(204);
});
