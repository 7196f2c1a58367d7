import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { FairQueue, mayStart } from "../../../src/http/outbound/fair_queue.ts";

interface Work {
  readonly tenant: string;
  readonly number: number;
}

test("the queue runs at most the allowed number, each tenant's work in order, and everything in the end", () => {
  const steps = fc.array(fc.record({ tenant: fc.constantFrom("a", "b", "c"), ends: fc.nat(3) }), {
    maxLength: 60,
  });
  fc.assert(fc.property(steps, (all) => {
    const running: Work[] = [];
    const started: Work[] = [];
    const queue = new FairQueue<Work>({
      mayStart: (own, total) => mayStart(own, total, 5),
      start: (work) => {
        running.push(work);
        started.push(work);
      },
    });
    const end = () => {
      const work = running.shift();
      if (work !== undefined) queue.remove(work);
    };
    all.forEach(({ tenant, ends }, number) => {
      queue.add({ tenant, number });
      assert.ok(running.length <= 5);
      for (let at = 0; at < ends; at += 1) end();
    });
    while (running.length > 0) end();
    assert.equal(started.length, all.length);
    for (const own of Map.groupBy(started, ({ tenant }) => tenant).values()) {
      assert.deepEqual(own, own.toSorted((a, b) => a.number - b.number));
    }
  }));
});

/** Starts work of the tenants in turns until none may start more. */
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

test("a new tenant may start however many tenants hang", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 40 }), (tenants) => {
    const hanging = fill(tenants, 128);
    const total = hanging.reduce((sum, count) => sum + count, 0);
    assert.ok(mayStart(0, total, 128), `${tenants} tenants hold ${total}`);
    assert.ok(Math.max(...hanging) - Math.min(...hanging) <= 1, "equal shares");
  }));
});
