import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { Gathered } from "#src/http/gathered.ts";

const cap = 1024;

test("one piece is handed over without a copy, and is never written into", () => {
  const gathered = new Gathered({ bytesMax: cap, expected: 3 });
  const only = Buffer.from("abcd").subarray(0, 3);
  assert.ok(gathered.append(only));
  assert.equal(gathered.bytes, only);
  assert.ok(gathered.append(Buffer.from("X")));
  assert.equal(gathered.bytes.toString(), "abcX");
  assert.equal(only.toString(), "abc");
});

test("a byte at a time is held in no more than the cap, and complete", () => {
  for (const expected of [0, 10, cap, 1e9]) {
    const gathered = new Gathered({ bytesMax: cap, expected });
    for (let index = 0; index < cap; index++) assert.ok(gathered.append(Buffer.of(index % 251)));
    const { bytes } = gathered;
    assert.equal(bytes.byteLength, cap);
    assert.ok(bytes.buffer.byteLength <= cap);
    assert.ok(bytes.every((byte, index) => byte === index % 251));
  }
});

test("the byte after the cap drops everything", () => {
  const gathered = new Gathered({ bytesMax: cap });
  assert.ok(gathered.append(Buffer.alloc(cap)));
  assert.ok(!gathered.append(Buffer.alloc(1)));
  assert.equal(gathered.length, 0);
});

test("what was given out stays as it is when everything is forgotten", () => {
  const gathered = new Gathered();
  for (const text of ["a", "b", "c"]) gathered.append(Buffer.from(text));
  const { bytes } = gathered;
  gathered.clear();
  assert.equal(gathered.bytes.length, 0);
  for (const text of ["x", "y", "z"]) gathered.append(Buffer.from(text));
  assert.equal(bytes.toString(), "abc");
});
