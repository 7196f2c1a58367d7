import assert from "node:assert/strict";
import test from "node:test";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/documents/examples.ts";
import { flagNames, reasons } from "../../src/contract/fields.ts";
import { limits } from "../../src/contract/limits.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";

const all: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };

for (const [name, { title, about, body, answer, idempotencyKey }] of Object.entries(all)) {
  test(`example ${name} answers ${answer.status}`, () => {
    assert.match(title, /^[A-Za-z]/);
    assert.match(about, /^[A-Z`].*\.$/);
    const verdict = validate(body, areas);
    const bytes = new TextEncoder().encode(body).length;
    assert.equal(bytes > limits.bodyBytesMax, answer.status === 413);
    if (answer.status === 413) return;
    if (idempotencyKey !== undefined) {
      assert.ok(idempotencyKey.length > limits.idempotencyKeyLengthMax);
      assert.equal(verdict.kind, "valid");
    } else if (answer.status === 202) {
      assert.ok(verdict.kind === "valid");
      assert.deepEqual(verdict.flags, answer.flags);
    } else if (answer.status === 422) {
      assert.ok(verdict.kind === "validation_failed");
      assert.deepEqual([verdict.fields, verdict.detail], [answer.fields, answer.detail]);
    } else {
      assert.ok(verdict.kind === "invalid_json");
      assert.equal(verdict.detail, answer.detail);
    }
  });
}

test("there is an example for every flag and every reason", () => {
  assert.deepEqual(Object.keys(flagExamples), flagNames);
  const shown = Object.values(failureExamples).flatMap(({ answer }) =>
    answer.status === 422 ? Object.values(answer.fields) : []
  );
  for (const reason of reasons) assert.ok(shown.includes(reason), reason);
});
