import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { freshKey, visitor, World } from "../support/world.ts";

/** What is held is answered like a success, and goes nowhere until an operator releases it. */
const world = await World.open();
await world.start();
const { form, key } = await world.formWithKey({ blocked: ["miracle cure"] });
const on = { databaseUrl: world.database.url };

const post = (body: unknown, headers: Record<string, string> = {}, to = form, by = key) =>
  world.submit(to, { key: by.text, body, headers });
const spam = (members = {}) => visitor({ message: `Try our miracle cure today! ${freshKey()}`, ...members });
const trapped = (members = {}) => visitor({ website: "https://spam.example", ...members });

/** All that a client can see of an answer, without what differs between any two. */
function seen({ status, rawHeaders, json, text }: Answer) {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const values = names.map((name, index) =>
    /^(date|x-request-id|ratelimit)$/i.test(name) ? name : `${name}: ${rawHeaders[2 * index + 1]}`
  );
  return { status, values, members: Object.keys(json), state: json.status, length: text.length };
}

test("a honeypot hit and a spam verdict are answered as a success is: status, headers in their order, body, length", async () => {
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

test("a held submission has its event and its verdict, and no outbox row and nothing pending", async () => {
  for (
    const [body, verdict, reasons] of [
      [trapped(), "honeypot", ["honeypot_filled"]],
      [spam(), "spam", ["blocked_words"]],
      [spam({ website: true }), "honeypot", ["honeypot_filled", "blocked_words"]],
    ] as const
  ) {
    const before = await world.stored();
    const { json } = await post(body);
    const { events, submissions } = before;
    assert.deepEqual(await world.stored(), { ...before, events: events + 1, submissions: submissions + 1 });
    const found = await world.submission(json.submission_id);
    assert.deepEqual([found.verdict, found.queued, found.released_at], [verdict, 0, null]);
    assert.deepEqual(found.reasons.filter((name: string) => /^(honeypot|blocked)/.test(name)), reasons);
    const shown = await ctl(["lead", "show", json.submission_id], on);
    assert.equal(shown.delivery.state, "held");
    assert.deepEqual(shown.submission, JSON.parse(JSON.stringify(body)));
    assert.equal((await world.event(json.submission_id)).transaction, found.transaction);
  }
});

test("the form's threshold decides: a high one delivers what the default holds, a low one holds what it delivers", async () => {
  const body = () =>
    visitor({ message: `Call now, click here: https://a.example and https://b.example ${freshKey()}` });
  const verdicts: Record<number, string> = {};
  for (const threshold of [1, 10_000]) {
    const own = await world.formWithKey({ threshold });
    const { json } = await post(body(), {}, own.form, own.key);
    const found = await world.submission(json.submission_id);
    assert.ok(found.score > 0, "it has a score either way");
    verdicts[threshold] = found.verdict;
  }
  assert.deepEqual(verdicts, { 1: "spam", 10_000: "clean" });
});

test("a repeat of a held submission is no second one, and of a released one neither", async () => {
  const headers = { "Idempotency-Key": freshKey() };
  const body = trapped();
  const first = await post(body, headers);
  await ctl(["form", "release", first.json.submission_id], on);
  await world.leavesNothing(async () => {
    const again = await post(body, headers);
    assert.deepEqual(again.json, { ...first.json, status: "duplicate" });
  });
  assert.equal((await world.submission(first.json.submission_id)).queued, 1);
});
