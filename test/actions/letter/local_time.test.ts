import assert from "node:assert/strict";
import { test } from "node:test";
import { localTime } from "../../../src/actions/letter/local_time.ts";

const at = "2026-03-08T10:30:00Z";

test("a time is told by the clock of a zone, which is said, on both sides of a change of it", () => {
  assert.equal(
    localTime("2026-03-08T09:59:59.999Z", "America/Los_Angeles", "moment"),
    "Sunday, March 8, 2026 at 1:59 AM PST",
  );
  assert.equal(localTime(at, "America/Los_Angeles", "moment"), "Sunday, March 8, 2026 at 3:30 AM PDT");
  assert.equal(localTime(at, "Asia/Kolkata", "moment"), "Sunday, March 8, 2026 at 4:00 PM GMT+5:30");
  assert.equal(localTime(at, "UTC", "moment"), "Sunday, March 8, 2026 at 10:30 AM UTC");
});

test("a zone that this process does not know is UTC, and says so", () => {
  assert.equal(localTime(at, "Mars/Olympus", "moment"), "Sunday, March 8, 2026 at 10:30 AM UTC");
});
