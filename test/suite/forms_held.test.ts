import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { freshKey, TestEnv, visitor } from "../support/test_env.ts";

/** A held submission gets the response of a success and is not delivered until an operator releases it. */
const testEnv = await TestEnv.open();
await testEnv.start();
const { form, key } = await testEnv.formWithKey({ blocked: ["miracle cure"] });
const on = { databaseUrl: testEnv.database.url };

const post = (body: unknown, headers: Record<string, string> = {}, to = form, by = key) =>
  testEnv.submit(to, { key: by.text, body, headers });
const spam = (members = {}) => visitor({ message: `Try our miracle cure today! ${freshKey()}`, ...members });
const trapped = (members = {}) => visitor({ website: "https://spam.example", ...members });

/** Returns what a client sees of a response, without the values that always differ. */
function seen({ status, rawHeaders, json, text }: Answer) {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const values = names.map((name, index) =>
    /^(date|x-request-id|ratelimit)$/i.test(name) ? name : `${name}: ${rawHeaders[2 * index + 1]}`
  );
  return { status, values, members: Object.keys(json), state: json.status, length: text.length };
}

test("a honeypot hit and a spam verdict get the response of a success: status, header order, body, length", async () => {
  for (const headers of [undefined, "key"]) {
    const answers: ReturnType<typeof seen>[] = [];
    for (const body of [visitor(), trapped(), spam(), trapped({ message: "miracle cure" })]) {
      const sent = headers === undefined ? {} : { "Idempotency-Key": freshKey() };
      answers.push(seen(await post(body, sent)));
      const repeat = await post(body, sent);
      assert.equal(repeat.status, 200);
      answers.push({ ...seen(repeat), state: "the repeat" });
    }
    const [success, repeat] = answers;
    for (const [index, answer] of answers.entries()) {
      assert.deepEqual(answer, index % 2 === 0 ? success : repeat);
    }
    assert.equal(success?.status, 202);
  }
});

test("a held submission has an event and a verdict, and no outbox row", async () => {
  for (
    const [body, verdict, reasons] of [
      [trapped(), "honeypot", ["honeypot_filled"]],
      [spam(), "spam", ["blocked_words"]],
      [spam({ website: true }), "honeypot", ["honeypot_filled", "blocked_words"]],
    ] as const
  ) {
    const before = await testEnv.stored();
    const { json } = await post(body);
    const { events, submissions } = before;
    assert.deepEqual(await testEnv.stored(), { ...before, events: events + 1, submissions: submissions + 1 });
    const found = await testEnv.submission(json.submission_id);
    assert.deepEqual([found.verdict, found.queued, found.released_at], [verdict, 0, null]);
    assert.deepEqual(found.reasons.filter((name: string) => /^(honeypot|blocked)/.test(name)), reasons);
    const shown = await ctl(["lead", "show", json.submission_id], on);
    assert.equal(shown.delivery.state, "held");
    assert.deepEqual(shown.submission, JSON.parse(JSON.stringify(body)));
    assert.equal((await testEnv.event(json.submission_id)).transaction, found.transaction);
  }
});

test("the form's threshold decides what is held", async () => {
  const body = () =>
    visitor({ message: `Call now, click here: https://a.example and https://b.example ${freshKey()}` });
  const verdicts: Record<number, string> = {};
  for (const threshold of [1, 10_000]) {
    const own = await testEnv.formWithKey({ threshold });
    const { json } = await post(body(), {}, own.form, own.key);
    const found = await testEnv.submission(json.submission_id);
    assert.ok(found.score > 0, "it has a score either way");
    verdicts[threshold] = found.verdict;
  }
  assert.deepEqual(verdicts, { 1: "spam", 10_000: "clean" });
});

test("a repeat of a held or released submission creates no second one", async () => {
  const headers = { "Idempotency-Key": freshKey() };
  const body = trapped();
  const first = await post(body, headers);
  await ctl(["form", "release", first.json.submission_id], on);
  await testEnv.leavesNothing(async () => {
    const again = await post(body, headers);
    assert.deepEqual(again.json, { ...first.json, status: "duplicate" });
  });
  assert.equal((await testEnv.submission(first.json.submission_id)).queued, 1);
});
