import assert from "node:assert/strict";
import test from "node:test";
import { errors, formErrors } from "../../src/contract/errors.ts";

const rules = (table: object) =>
  Object.entries(table).map(([code, { status, retry }]) => `${status} ${code}: ${retry}`);

test("each error code has the specification's status and retry rule", () => {
  assert.deepEqual(rules(errors), [
    "400 invalid_json: never",
    "401 unauthorized: never",
    "404 not_found: never",
    "405 method_not_allowed: never",
    "413 body_too_large: never as-is",
    "422 validation_failed: never as-is",
    "429 rate_limited: after Retry-After",
    "503 not_accepting: yes",
  ]);
});

test("each error code of forms has its status and retry rule", () => {
  assert.deepEqual(rules(formErrors), [
    "400 invalid_json: never",
    "400 missing_required: never as-is",
    "401 unauthorized: never",
    "403 tenant_mismatch: never",
    "404 form_not_found: never",
    "404 not_found: never",
    "405 method_not_allowed: never",
    "413 body_too_large: never as-is",
    "429 rate_limited: after Retry-After",
    "503 not_accepting: yes",
  ]);
});
