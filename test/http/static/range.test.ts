import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseRange, rangeWithin } from "#src/http/static/range.ts";

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
