import assert from "node:assert/strict";
import test from "node:test";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/documents/examples.ts";
import { limits } from "../../src/contract/limits.ts";
import { answerTo, bytesOf } from "../../src/playground/answer.ts";
import { areas } from "../support/lead/areas.ts";

const posted = (body: string, idempotencyKey = "", isRepeat = false) => ({ body, idempotencyKey, isRepeat });
const minimal = leadExamples.minimal.body;

test("every example is answered as it says", () => {
  const all: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };
  for (const [name, { body, answer, idempotencyKey }] of Object.entries(all)) {
    const given = answerTo(posted(body, idempotencyKey), areas);
    assert.equal(given.status, answer.status, name);
    if (answer.status === 202) assert.deepEqual(given.body.flags, answer.flags, name);
    if (answer.status === 422) assert.deepEqual(given.body.fields, answer.fields, name);
  }
});

test("a repeat is a duplicate with the same event_id, and a repeat that fails validation still fails", () => {
  const first = answerTo(posted(minimal), areas);
  const again = answerTo(posted(minimal, "acme:1", true), areas);
  assert.equal(again.status, 200);
  assert.deepEqual(again.body, { ...first.body, status: "duplicate" });
  assert.equal(answerTo(posted("{}", "acme:1", true), areas).status, 422);
});

test("an Idempotency-Key is counted in characters, blank is none, and it fails beside the body's fields", () => {
  const cap = limits.idempotencyKeyLengthMax;
  for (const fits of ["", "   ", "k".repeat(cap), "🏠".repeat(cap), ` ${"k".repeat(cap)} `]) {
    assert.equal(answerTo(posted(minimal, fits), areas).status, 202, fits);
  }
  for (const over of ["k".repeat(cap + 1), "a\tb", "a\u0085b"]) {
    assert.deepEqual(answerTo(posted("{}", over), areas).body.fields, {
      first_name: "required",
      last_name: "required",
      phone: "required",
      "Idempotency-Key": "too_long",
    });
  }
});

test("size comes first, in bytes of UTF-8, and the answer says nothing of the key's limit", () => {
  const padded = (bytes: number) => minimal + " ".repeat(bytes - bytesOf(minimal));
  assert.equal(answerTo(posted(padded(limits.bodyBytesMax)), areas).status, 202);
  const over = answerTo(posted(padded(limits.bodyBytesMax + 1)), areas);
  assert.deepEqual([over.status, over.body, over.validation], [413, { error: "body_too_large" }, null]);
  assert.doesNotMatch(String(over.headers["RateLimit"]), /key/);
  assert.equal(answerTo(posted(`"${"é".repeat(limits.bodyBytesMax / 2)}"`), areas).status, 413);
  assert.equal(answerTo(posted("é".repeat(10_000_000)), areas).status, 413);
});
