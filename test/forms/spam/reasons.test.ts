import assert from "node:assert/strict";
import test from "node:test";
import { spamReasons } from "../../../src/forms/spam/reasons.ts";

test("every reason has one sentence that tells an operator what it means", () => {
  for (const [name, { meaning }] of Object.entries(spamReasons)) {
    assert.match(name, /^[a-z]+(_[a-z]+)*$/);
    assert.match(meaning, /^[A-Z][^.]*\.$|^[A-Z][^.]*\[\.\]com\.$/, name);
  }
});
