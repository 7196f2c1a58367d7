/**
 * The search for the smallest schedule that still fails.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { shrink } from "../../scripts/prove/shrink.ts";

const numbers = Array.from({ length: 40 }, (_, index) => index);

test("what fails because of two items shrinks to these two", async () => {
  const found = await shrink(numbers, (some) => Promise.resolve(some.includes(7) && some.includes(31)), {
    triesMax: 1_000,
  });
  assert.deepEqual(found.items, [7, 31]);
  assert.ok(found.tries < 100);
});

test("what fails without any item shrinks to nothing", async () => {
  assert.deepEqual((await shrink(numbers, () => Promise.resolve(true), { triesMax: 1_000 })).items, []);
});

test("the search ends when its tries are spent, with the smallest list so far that fails", async () => {
  let calls = 0;
  const found = await shrink(numbers, (some) => {
    calls += 1;
    return Promise.resolve(some.includes(7) && some.includes(31));
  }, { triesMax: 5 });
  assert.equal(calls, 5);
  assert.equal(found.tries, 5);
  assert.ok(found.items.includes(7) && found.items.includes(31));
});
