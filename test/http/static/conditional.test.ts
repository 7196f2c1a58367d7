import { httpDate, parseHttpDate, parseRange, rangeWithin } from "#src/http/static/conditional.ts";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";

const atMs = Date.UTC(1994, 10, 6, 8, 49, 37);
const nowMs = Date.UTC(2026, 10, 21);

test("a date goes out in the one format, to the second", () => {
  assert.equal(httpDate(atMs + 999), "Sun, 06 Nov 1994 08:49:37 GMT");
});

test("each of HTTP's three formats is read", () => {
  assert.equal(parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT", nowMs), atMs);
  assert.equal(parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT", nowMs), atMs);
  assert.equal(parseHttpDate("Sun Nov  6 08:49:37 1994", nowMs), atMs);
  assert.equal(parseHttpDate("sun, 06 nov 1994 08:49:37 gmt", nowMs), atMs);
});

test("a year of two digits is the nearest one that is at most 50 years ahead", () => {
  const year = (text: string) =>
    new Date(parseHttpDate(`Friday, 01-Jan-${text} 00:00:00 GMT`, nowMs) as number).getUTCFullYear();
  assert.equal(year("26"), 2026);
  assert.equal(year("76"), 2076);
  assert.equal(year("77"), 1977);
});

test("anything else is no date", () => {
  const wrong = [
    "",
    "2026",
    "1994-11-06T08:49:37Z",
    "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nox 1994 08:49:37 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "784111777",
  ];
  for (const text of wrong) assert.equal(parseHttpDate(text, nowMs), null, text);
});

/** What of a file of `size` bytes a header gives: a range, `"none"` for 416, `"all"` when it is ignored. */
function range(header: string | undefined, size: number): [number, number] | "none" | "all" {
  const request = parseRange(header);
  if (request === null) return "all";
  const found = rangeWithin(request, size);
  return found === null ? "none" : [found.start, found.end];
}

test("what is malformed, of another unit or of several ranges is ignored", () => {
  const ignored = [
    undefined,
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=,",
    "bytes=a-b",
    "bytes=1",
    "bytes=2-1",
    "bytes=1-2-3",
    "bytes=--1",
    "bytes=+1-2",
    "bytes=1.0-2",
    "bytes=0x1-2",
    "bytes=1 -2",
    "bytes =1-2",
    " bytes=1-2",
    "bytes=\u0661-2",
    "items=1-2",
    "bytes=0-0,2-3",
    "bytes=0-,-1",
  ];
  for (const header of ignored) assert.equal(range(header, 10), "all", header);
});

test("a range is never empty and never reaches beyond the file", () => {
  const number = fc.oneof(fc.nat(20), fc.bigInt(0n, 1n << 70n)).map(String);
  const part = fc.oneof(number, fc.constant(""));
  fc.assert(fc.property(part, part, fc.nat(20), (first, last, size) => {
    const found = range(`bytes=${first}-${last}`, size);
    if (typeof found === "string") return;
    const [start, end] = found;
    assert.ok(0 <= start && start < end && end <= size);
    if (first !== "") assert.equal(start, Number(first));
    else assert.ok(end === size);
  }));
});
