import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Crowd } from "#src/http/node/crowd.ts";

test("members come by the size of their key, and each key's in the order in which they came", () => {
  const crowd = new Crowd<string>();
  for (const member of ["a1", "b1", "c1", "b2", "c2", "c3"]) crowd.add(member.charAt(0), member);
  assert.deepEqual([...crowd.all()], ["c1", "c2", "c3", "b1", "b2", "a1"]);
  for (const member of ["c1", "c2", "c2"]) crowd.remove("c", member);
  assert.deepEqual([...crowd.all()], ["b1", "b2", "a1", "c3"]);
  assert.deepEqual([...crowd.of("b")], ["b1", "b2"]);
  crowd.remove("a", "a1");
  assert.equal(crowd.of("a").size, 0);
  assert.equal(crowd.size, 3);
});

test("whatever comes and goes, a crowd has who is there, the largest keys first", () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 9 })));
  fc.assert(fc.property(steps, (taken) => {
    const crowd = new Crowd<string>();
    const there = new Set<string>();
    for (const [key, number] of taken) {
      const member = `${key}-${number}`;
      if (there.delete(member)) crowd.remove(String(key), member);
      else {
        there.add(member);
        crowd.add(String(key), member);
      }
    }
    const all = [...crowd.all()];
    assert.deepEqual(new Set(all), there);
    assert.equal(crowd.size, there.size);
    const sizes = all.map((member) => crowd.of(member.charAt(0)).size);
    assert.deepEqual(sizes, sizes.toSorted((one, other) => other - one));
  }));
});
