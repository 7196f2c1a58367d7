import assert from "node:assert/strict";
import test from "node:test";
import { formErrors } from "../../src/contract/form_errors.ts";

test("each error code of the forms answers with the status and retry rule that was decided", () => {
  const rules = Object.entries(formErrors).map(([code, { status, retry }]) => [code, status, retry]);
  assert.deepEqual(rules, [
    ["invalid_json", 400, "never"],
    ["missing_required", 400, "never as-is"],
    ["unauthorized", 401, "never"],
    ["tenant_mismatch", 403, "never"],
    ["form_not_found", 404, "never"],
    ["not_found", 404, "never"],
    ["method_not_allowed", 405, "never"],
    ["body_too_large", 413, "never as-is"],
    ["rate_limited", 429, "after Retry-After"],
    ["not_accepting", 503, "yes"],
  ]);
});

test("every error of the forms says its condition and what the caller should do", () => {
  for (const { condition, callerAction } of Object.values(formErrors)) {
    assert.match(condition, /\w/);
    assert.match(callerAction, /\w/);
  }
});
