import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { monthAfter, monthBounds, TimeZone, utc } from "../../src/http/time_zone.ts";

const zone = (name: string) => new TimeZone(name);
const at = (name: string, iso: string) => {
  const { day, clock, offset, isAmbiguous } = zone(name).at(Date.parse(iso));
  return `${day} ${clock} ${offset}${isAmbiguous ? " twice" : ""}`;
};

test("local times have the zone's offset in summer and winter", () => {
  assert.equal(at("UTC", "2026-11-21T01:57:09.999Z"), "2026-11-21 01:57:09 +00:00");
  assert.equal(at("Europe/Berlin", "2026-11-21T23:30:00Z"), "2026-11-22 00:30:00 +01:00");
  assert.equal(at("Europe/Berlin", "2026-07-01T12:00:00Z"), "2026-07-01 14:00:00 +02:00");
  assert.equal(at("America/Los_Angeles", "2026-01-01T07:59:59Z"), "2025-12-31 23:59:59 -08:00");
  assert.equal(at("Asia/Kathmandu", "2026-01-01T00:00:00Z"), "2026-01-01 05:45:00 +05:45");
});

test("only a local time that occurs twice is marked as ambiguous", () => {
  assert.equal(at("Europe/Berlin", "2026-10-25T00:30:00Z"), "2026-10-25 02:30:00 +02:00 twice");
  assert.equal(at("Europe/Berlin", "2026-10-25T01:30:00Z"), "2026-10-25 02:30:00 +01:00 twice");
  assert.equal(at("Europe/Berlin", "2026-10-24T23:59:59Z"), "2026-10-25 01:59:59 +02:00");
  assert.equal(at("Europe/Berlin", "2026-10-25T02:00:00Z"), "2026-10-25 03:00:00 +01:00");
  // The clocks change by half an hour there.
  assert.equal(at("Australia/Lord_Howe", "2026-04-04T14:45:00Z"), "2026-04-05 01:45:00 +11:00 twice");
});

test("a local time has one moment, or two where it occurs twice, also where it is skipped", () => {
  const moments = (wall: string) =>
    zone("Europe/Berlin").instantsOf(Date.parse(`${wall}Z`)).map((ms) => new Date(ms).toISOString());
  assert.deepEqual(moments("2026-11-21T12:00"), ["2026-11-21T11:00:00.000Z"]);
  assert.deepEqual(moments("2026-10-25T02:30"), ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]);
  assert.deepEqual(moments("2026-03-29T02:30"), ["2026-03-29T01:30:00.000Z"]);
});

test("every moment is among those of its local time", () => {
  const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"].map(
    zone,
  );
  const from = Date.parse("2026-01-01T00:00:00Z");
  fc.assert(fc.property(fc.nat(366 * 1_440), fc.constantFrom(...zones), (minutes, one) => {
    const atMs = from + minutes * 60_000;
    const { day, clock } = one.at(atMs);
    assert.ok(one.instantsOf(Date.parse(`${day}T${clock}Z`)).includes(atMs));
  }));
});

test("a month has local bounds, also where a clock change hides or repeats its first midnight", () => {
  const bounds = (month: string, zone: string) => Object.values(monthBounds(month, new TimeZone(zone)) ?? {});
  assert.deepEqual(bounds("2026-11", "America/New_York"), [
    "2026-11-01T04:00:00.000Z",
    "2026-12-01T05:00:00.000Z",
  ]);
  assert.deepEqual(bounds("2026-12", "Asia/Kolkata"), [
    "2026-11-30T18:30:00.000Z",
    "2026-12-31T18:30:00.000Z",
  ]);
  // Havana repeats the hour from midnight; Amman skipped it in 2011.
  assert.equal(bounds("2026-11", "America/Havana")[0], "2026-11-01T04:00:00.000Z");
  assert.equal(bounds("2011-04", "Asia/Amman")[0], "2011-03-31T22:00:00.000Z");
  for (const text of ["2026-13", "2026-1", "1999-12", "2026-11-01", ""]) {
    assert.equal(monthBounds(text, utc), null);
  }
  assert.deepEqual([monthAfter("2026-12", 1), monthAfter("2026-01", -1)], ["2027-01", "2025-12"]);
});
