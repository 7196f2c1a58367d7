import assert from "node:assert/strict";
import { test } from "node:test";
import { LruCache } from "#src/http/lru_cache.ts";

test("what was used least recently goes first when the bound is reached", () => {
  const kept = new LruCache<string, string>(6, (value) => value.length);
  kept.put("a", "11");
  kept.put("b", "22");
  kept.put("c", "33");
  assert.equal(kept.get("a"), "11");
  kept.put("d", "44");
  assert.equal(kept.get("b"), undefined);
  assert.deepEqual(["a", "c", "d"].map((key) => kept.get(key)), ["11", "33", "44"]);
  kept.put("e", "55555");
  assert.deepEqual(["a", "c", "d", "e"].map((key) => kept.get(key)), [
    undefined,
    undefined,
    undefined,
    "55555",
  ]);
  assert.equal(kept.weight, 5);
});

test("a value in place of another counts once, one over the bound is not kept", () => {
  const kept = new LruCache<string, string>(6, (value) => value.length);
  kept.put("a", "1111");
  kept.put("a", "22222");
  assert.equal(kept.weight, 5);
  kept.put("a", "3333333");
  assert.equal(kept.get("a"), undefined);
  assert.equal(kept.weight, 0);
  kept.drop("a");
  assert.equal(kept.weight, 0);
});
