import assert from "node:assert/strict";
import { test } from "node:test";
import { Deadlines, type Timed } from "#src/http/deadlines.ts";

test("deadlines pass in the order in which they were set", () => {
  const list = new Deadlines<Timed>(10);
  const make = (): Timed => ({ deadline: null });
  const [a, b, c] = [make(), make(), make()];
  const expired: Timed[] = [];
  const note = (owner: Timed): void => {
    expired.push(owner);
  };
  list.add(a, 0);
  list.add(b, 1);
  list.add(c, 2);
  list.remove(b);
  list.remove(b);
  list.sweep(9, note);
  assert.ok(!expired.includes(a));
  list.sweep(11, note);
  assert.ok(expired.includes(a) && !expired.includes(c));
  list.add(b, 5);
  list.sweep(100, note);
  list.sweep(100, note);
  assert.ok(expired.length === 3 && expired[1] === c && expired[2] === b);
});

test("a member of another list is not taken out", () => {
  const [one, two] = [new Deadlines<Timed>(1), new Deadlines<Timed>(1)];
  const member: Timed = { deadline: null };
  one.add(member, 0);
  two.remove(member);
  const expired: Timed[] = [];
  one.sweep(1, (owner) => expired.push(owner));
  assert.ok(expired[0] === member);
});
