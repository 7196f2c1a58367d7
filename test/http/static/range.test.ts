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

test("a range is of the bytes there are", () => {
  assert.deepEqual(range("bytes=0-0", 10), [0, 1]);
  assert.deepEqual(range("bytes=0-9", 10), [0, 10]);
  assert.deepEqual(range("bytes=5-", 10), [5, 10]);
  assert.deepEqual(range("bytes=9-9", 10), [9, 10]);
  assert.deepEqual(range("bytes=3-100", 10), [3, 10]);
  assert.deepEqual(range("bytes=3-99999999999999999999999999", 10), [3, 10]);
  assert.deepEqual(range("bytes=-3", 10), [7, 10]);
  assert.deepEqual(range("bytes=-100", 10), [0, 10]);
  assert.deepEqual(range("bytes=-99999999999999999999999999", 10), [0, 10]);
});

test("a range without a byte that is there cannot be satisfied", () => {
  for (const header of ["bytes=10-", "bytes=10-20", "bytes=99999999999999999999-", "bytes=-0"]) {
    assert.equal(range(header, 10), "none", header);
  }
  for (const header of ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"]) {
    assert.equal(range(header, 0), "none", header);
  }
});

test("the unit is read in any case, and a list may have empty members and spaces", () => {
  for (const header of ["Bytes=1-2", "BYTES=1-2", "bytes= 1-2", "bytes=1-2,", "bytes=,\t1-2 ,,"]) {
    assert.deepEqual(range(header, 10), [1, 3], header);
  }
});

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
