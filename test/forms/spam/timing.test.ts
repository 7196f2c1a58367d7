import assert from "node:assert/strict";
import test from "node:test";
import { defaultThreshold, type FormValue } from "../../../src/forms/spam/score.ts";
import { nowMs, reasonNames, score } from "../../support/forms/score.ts";

test("a form filled in under 2 seconds is too_fast, for times in ISO 8601 and Unix seconds or milliseconds", () => {
  const startedMs = nowMs - 1000;
  const spellings: readonly FormValue[] = [
    new Date(startedMs).toISOString(),
    "2026-11-20T06:59:59-05:00",
    startedMs,
    String(startedMs),
    startedMs / 1000,
    ` ${startedMs / 1000} `,
  ];
  for (const name of ["form_started_at", "_started_at", "form_loaded_at", "_loaded_at"]) {
    for (const value of spellings) {
      assert.deepEqual(reasonNames({ [name]: value }), ["too_fast"], String(value));
    }
  }
  assert.ok(score({ _started_at: nowMs }).score < defaultThreshold, "not held by that alone");
});

test("a missing, malformed, future or old start time is no reason", () => {
  const values: readonly FormValue[] = [
    null,
    "",
    "yesterday",
    "2026-11-20",
    "2026-11-20T11:59:59",
    "2026-99-99T99:99:99Z",
    true,
    0,
    -1,
    1e21,
    nowMs + 1,
    nowMs - 5000,
    nowMs - 86_400_001,
    "9".repeat(400),
  ];
  for (const value of values) assert.deepEqual(reasonNames({ _started_at: value }), [], String(value));
});
