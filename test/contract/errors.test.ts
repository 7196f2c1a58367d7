import assert from "node:assert/strict";
import test from "node:test";
import { errors } from "../../src/contract/errors.ts";

test("each error code answers with the specification's status and retry rule", () => {
  const rules = Object.entries(errors).map(([code, { status, retry }]) => [code, status, retry]);
  assert.deepEqual(rules, [
    ["invalid_json", 400, "never"],
    ["unauthorized", 401, "never"],
    ["not_found", 404, "never"],
    ["method_not_allowed", 405, "never"],
    ["body_too_large", 413, "never as-is"],
    ["validation_failed", 422, "never as-is"],
    ["rate_limited", 429, "after Retry-After"],
    ["not_accepting", 503, "yes"],
  ]);
});

test("every error says its condition and what the caller should do", () => {
  for (const { condition, callerAction } of Object.values(errors)) {
    assert.match(condition, /\w/);
    assert.match(callerAction, /\w/);
  }
});
