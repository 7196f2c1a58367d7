import assert from "node:assert/strict";
import { test } from "node:test";
import { BufferPool } from "#src/http/static/buffer_pool.ts";

test("large pieces are for as many downloads as may have one, and then there are small ones", () => {
  const pieces = new BufferPool({ largeMax: 2 });
  const [one, two, three] = [pieces.take(1e9), pieces.take(1e9), pieces.take(1e9)];
  assert.equal(one.length, two.length);
  assert.ok(three.length < one.length);
  assert.equal(pieces.largeOut, 2);
  pieces.give(one);
  assert.equal(pieces.take(1e9), one);
  pieces.give(three);
  assert.equal(pieces.take(1e9), three);
  assert.equal(pieces.largeOut, 2);
});

test("what is left of a download and fits gets a small piece", () => {
  const pieces = new BufferPool({ largeMax: 2 });
  assert.ok(pieces.take(10).length < pieces.take(1e6).length);
});
