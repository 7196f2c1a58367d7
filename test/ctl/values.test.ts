import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../../src/ctl/command.ts";
import { parseId, parseTime } from "../../src/ctl/values.ts";

const nowMs = Date.parse("2026-09-30T12:00:00Z");
const past = { name: "--since", direction: "past", nowMs } as const;
const future = { name: "--until", direction: "future", nowMs } as const;

test("a duration is subtracted from now for --since and added for --until", () => {
  assert.equal(parseTime("2h", past), "2026-09-30T10:00:00.000Z");
  assert.equal(parseTime("7d", future), "2026-10-07T12:00:00.000Z");
  assert.equal(parseTime("90s", past), "2026-09-30T11:58:30.000Z");
  assert.equal(parseTime("30m", future), "2026-09-30T12:30:00.000Z");
  assert.equal(parseTime("1w", past), "2026-09-23T12:00:00.000Z");
});

test("an invalid time is wrong usage", () => {
  const wrong = ["", "soon", "2", "2y", "-2h", "2026-13-01", "2026-02-29", "2026-09-01T25:00", "2026-9-1"];
  for (const text of [...wrong, "1969-12-31", "999999w", "2026-09-01T08:30+99:00", " 2h"]) {
    assert.throws(() => parseTime(text, past), UsageError, text);
  }
});

test("--until must be in the future", () => {
  assert.throws(() => parseTime("2026-09-30T12:00Z", future), /future/);
  assert.throws(() => parseTime("0s", future), /future/);
});

test("an id is decimal digits; leading zeros are ignored", () => {
  assert.equal(parseId("007", "ctl key list"), "7");
  for (const text of ["", "1.0", "0x1", "-1", "1".repeat(19)]) {
    assert.throws(() => parseId(text, "ctl key list"), UsageError);
  }
});
