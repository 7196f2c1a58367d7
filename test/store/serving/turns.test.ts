import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "../../../src/store/serving/turns.ts";

/** What a simulated minute came to. */
interface Found {
  readonly commitsALead: number;
  /** From the arrival to the answer, on average. */
  readonly meanMs: number;
}

/** A chance that is the same in every run: a linear congruential generator. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return ((state >>> 0) + 0.5) / 2 ** 32;
  };
}

/** Leads that come by chance, so many a second, to committers of which each takes an equal share. */
function simulate({ committers, perSecond, commitMs }: {
  readonly committers: number;
  readonly perSecond: number;
  /** A commit, and each of its entries. */
  readonly commitMs: readonly [fixed: number, each: number];
}): Found {
  const seconds = 20;
  let leads = 0;
  let commits = 0;
  let waitedMs = 0;
  for (let number = 0; number < committers; number += 1) {
    const next = chance(number + 1);
    const turns = committers > 1 ? new Turns(committers) : null;
    const arrivals: number[] = [];
    for (let atMs = 0; atMs < seconds * 1_000;) {
      atMs += -Math.log(next()) * 1_000 * committers / perSecond;
      arrivals.push(atMs);
    }
    let nowMs = 0;
    for (let at = 0; at < arrivals.length;) {
      nowMs = Math.max(nowMs, arrivals[at] as number);
      const arrived = () => {
        let end = at;
        while (end < arrivals.length && (arrivals[end] as number) <= nowMs) end += 1;
        return end - at;
      };
      const before = arrived();
      const waitMs = turns?.waitMs(nowMs, before) ?? 0;
      if (turns !== null && waitMs > 0) {
        const enoughAtMs = arrivals[at + turns.enough - 1] ?? Infinity;
        nowMs = Math.min(nowMs + waitMs, Math.max(nowMs, enoughAtMs));
        turns.waited(arrived() - before);
      }
      const batch = arrived();
      const tookMs = commitMs[0] + batch * commitMs[1];
      nowMs += tookMs;
      turns?.ended(tookMs, nowMs);
      const end = at + batch;
      for (; at < end; at += 1) waitedMs += nowMs - (arrivals[at] as number);
      commits += 1;
      leads += batch;
    }
  }
  return { commitsALead: commits / leads, meanMs: waitedMs / leads };
}

for (const committers of [2, 4]) {
  for (const commitMs of [[1, 0.05], [5, 0.05]] as const) {
    test(`${committers} committers of ${commitMs[0]} ms commit as seldom together as one does, and nobody waits for longer than their commits`, () => {
      for (const perSecond of [500, 2_000, 6_000]) {
        const one = simulate({ committers: 1, perSecond, commitMs });
        const several = simulate({ committers, perSecond, commitMs });
        // A batch of 32 is large enough, were one committer's larger.
        const most = Math.max(1.1 * one.commitsALead, 1.1 / 32);
        assert.ok(several.commitsALead < most, `${several.commitsALead} of ${one.commitsALead}`);
        assert.ok(several.meanMs < one.meanMs + committers * commitMs[0], `${several.meanMs} ms`);
      }
    });
  }
}

test("whoever posts one lead after the other hardly waits for leads that do not come", () => {
  const turns = new Turns(4);
  let nowMs = 0;
  let waitedMs = 0;
  for (let lead = 0; lead < 1_000; lead += 1) {
    const waitMs = turns.waitMs(nowMs, 1);
    if (waitMs > 0) turns.waited(0);
    waitedMs += waitMs;
    nowMs += waitMs + 1;
    turns.ended(1, nowMs);
    nowMs += 0.2;
  }
  assert.ok(waitedMs / 1_000 < 0.3, `${waitedMs} ms`);
});

test("a committer that was idle, and one for which enough waits, commits at once; the wait has a bound", () => {
  const turns = new Turns(4);
  assert.equal(turns.waitMs(0, 1), 0);
  turns.ended(2, 100);
  assert.equal(turns.waitMs(101, 1), 5);
  assert.equal(turns.waitMs(101, turns.enough), 0);
  assert.equal(turns.waitMs(106, 1), 0);
  turns.ended(2_000, 3_000);
  assert.equal(turns.waitMs(3_000, 1), 20);
});

test("whoever waits is called when enough has come, and by the clock when it has not", async () => {
  const turns = new Turns(4);
  turns.ended(2_000, 0);
  let entries = 1;
  const called = turns.come(() => entries, 0);
  for (; entries < turns.enough; entries += 1) turns.entered(entries);
  turns.entered(entries);
  await called;
  turns.ended(1, 0);
  await turns.come(() => 1, 0);
});
