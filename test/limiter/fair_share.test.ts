import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { mayStart } from "../../src/limiter/fair_share.ts";

/** Lets every tenant take what it may, in turns, until none may take more. */
function fill(tenants: number, allowed: number): number[] {
  const inFlight = new Array<number>(tenants).fill(0);
  for (let started = true; started;) {
    started = false;
    for (let tenant = 0; tenant < tenants; tenant += 1) {
      const total = inFlight.reduce((sum, count) => sum + count, 0);
      if (!mayStart(inFlight[tenant] as number, total, allowed)) continue;
      inFlight[tenant] = (inFlight[tenant] as number) + 1;
      started = true;
    }
  }
  return inFlight;
}

test("A tenant that is alone gets half of what is allowed in flight", () => {
  assert.deepEqual(fill(1, 128), [64]);
});

test("However many tenants hang, the one that comes next may start", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 40 }), (tenants) => {
    const hanging = fill(tenants, 128);
    const total = hanging.reduce((sum, count) => sum + count, 0);
    assert.ok(mayStart(0, total, 128), `${tenants} tenants hold ${total}`);
    assert.ok(Math.max(...hanging) - Math.min(...hanging) <= 1, "and they share alike");
  }));
});

test("Nothing starts beyond what is allowed, and nothing at all when nothing is", () => {
  assert.equal(mayStart(0, 128, 128), false);
  assert.equal(mayStart(0, 0, 0), false);
  assert.equal(mayStart(0, 0, 1), true);
  assert.equal(mayStart(0, 1, 1), false);
});
