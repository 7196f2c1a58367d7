import assert from "node:assert/strict";
import { test } from "node:test";
import { likelyTimeZone, timeZoneName } from "../../src/settings/time_zone.ts";

test("a name that is no place's is none, and the likely one is known", () => {
  for (const name of ["", "Europe/Berln", "+02:00", "02:00", "EST", "GB", "Mars/Base", "x".repeat(10_000)]) {
    assert.equal(timeZoneName(name), null, name);
  }
  assert.equal(timeZoneName("europe/berlin"), "Europe/Berlin");
  assert.equal(timeZoneName("utc"), "UTC");
  assert.equal(likelyTimeZone("Europe/Berln"), "Europe/Berlin");
  assert.equal(likelyTimeZone("europe berlin"), "Europe/Berlin");
  assert.equal(likelyTimeZone("New York"), "America/New_York");
  assert.equal(likelyTimeZone("qqqqqqqqqq"), null);
});
