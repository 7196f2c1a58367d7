import assert from "node:assert/strict";
import { after, test } from "node:test";
import { visitor, World } from "./world.ts";

const world = await World.open();
after(() => world.close());
await world.start();
const { form, key } = await world.formWithKey();

test("a form's fields answer 202 with the submission's id and time, and are stored with an outbox row", async () => {
  const answer = await world.submit(form, { key: key.text, body: visitor() });
  assert.equal(answer.status, 202, answer.text);
  const found = await world.submission(answer.json.submission_id);
  assert.equal(found.verdict, "clean");
  assert.equal(found.queued, 1);
  const event = await world.event(answer.json.submission_id);
  assert.equal(event.transaction, found.transaction);
});
