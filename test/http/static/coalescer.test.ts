import assert from "node:assert/strict";
import { test } from "node:test";
import { Coalescer } from "#src/http/static/file_folder.ts";

/** A job that is finished by hand, and counts how often it began. */
function byHand() {
  const finish: ((value: number | Error) => void)[] = [];
  const job = () =>
    new Promise<number>((resolve, reject) =>
      finish.push((value) => typeof value === "number" ? resolve(value) : reject(value))
    );
  return { job, finish };
}

test("who asks during a round gets the next one, together with the others", async () => {
  const rounds = new Coalescer<number>();
  const { job, finish } = byHand();
  const first = rounds.ask("a", job);
  const second = rounds.ask("a", job);
  const third = rounds.ask("a", job);
  assert.equal(finish.length, 1);
  finish[0]?.(1);
  assert.equal(await first, 1);
  assert.equal(finish.length, 2);
  const fourth = rounds.ask("a", job);
  finish[1]?.(2);
  assert.deepEqual(await Promise.all([second, third]), [2, 2]);
  finish[2]?.(3);
  assert.equal(await fourth, 3);
  const fifth = rounds.ask("a", job);
  finish[3]?.(4);
  assert.equal(await fifth, 4);
});

test("keys do not wait for one another", async () => {
  const rounds = new Coalescer<number>();
  const { job, finish } = byHand();
  const one = rounds.ask("a", job);
  const other = rounds.ask("b", job);
  finish[1]?.(2);
  assert.equal(await other, 2);
  finish[0]?.(1);
  assert.equal(await one, 1);
});

test("a round that fails fails for those who are in it, and for nobody else", async () => {
  const rounds = new Coalescer<number>();
  const { job, finish } = byHand();
  const first = rounds.ask("a", job);
  const second = rounds.ask("a", job);
  finish[0]?.(new Error("broken"));
  await assert.rejects(first, /broken/);
  finish[1]?.(2);
  assert.equal(await second, 2);
});
