import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RequestRate, type Turn } from "../../src/limiter/request_rate.ts";
import { runs } from "../support/lead/properties.ts";

const arrivals = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3_000, noNaN: true })), {
  minLength: 1,
  maxLength: 120,
});
const rate = fc.record({
  requests: fc.integer({ min: 1, max: 20 }),
  seconds: fc.integer({ min: 1, max: 5 }),
});

/** Whether there are more than `requests` starts in any period of the rate's length. */
function isExceeded(starts: readonly number[], { requests, seconds }: { requests: number; seconds: number }) {
  const sorted = starts.toSorted((a, b) => a - b);
  // Sums of times are exact to a millionth of a millisecond.
  return sorted.some((start, index) =>
    start - (sorted[index - requests] ?? -Infinity) < seconds * 1_000 - 1e-6
  );
}

test("for any arrivals, there are never more requests than allowed in any period", () => {
  fc.assert(
    fc.property(rate, arrivals, (rate, gaps) => {
      const gate = new RequestRate();
      let nowMs = 1_000_000;
      const starts = gaps.flatMap((gap) => {
        nowMs += gap;
        const turn = gate.take("account", rate, nowMs);
        return turn.kind === "wait" ? [nowMs + turn.ms] : [];
      });
      assert.equal(isExceeded(starts, rate), false);
    }),
    runs,
  );
});

test("events that are retried after the wait they were given are all sent, never too many at a time", () => {
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 150 }), (rate, count) => {
      const gate = new RequestRate();
      const starts: number[] = [];
      const waiting = Array.from({ length: count }, () => 0);
      for (let turns = 0; waiting.length > 0; turns++) {
        assert.ok(turns < 20 * count, "an event waits forever");
        waiting.sort((a, b) => a - b);
        const nowMs = waiting.shift() as number;
        const turn = gate.take("account", rate, nowMs);
        if (turn.kind === "wait") starts.push(nowMs + turn.ms);
        else waiting.push(nowMs + turn.ms);
      }
      assert.equal(starts.length, count);
      assert.equal(isExceeded(starts, rate), false);
    }),
    runs,
  );
});

const waits = (turns: readonly Turn[]) => turns.map(({ kind, ms }) => [kind, Math.round(ms)]);

test("requests within the rate do not wait; the next one waits for the oldest", () => {
  const gate = new RequestRate();
  const take = (nowMs: number) => gate.take("account", { requests: 2, seconds: 1 }, nowMs);
  assert.deepEqual(waits([take(0), take(100), take(200), take(200), take(200), take(3_000)]), [
    ["wait", 0],
    ["wait", 0],
    ["wait", 800],
    ["wait", 900],
    ["wait", 1_800],
    ["wait", 0],
  ]);
});

test("a turn more than two seconds ahead is not reserved, and those events come back one after the other", () => {
  const gate = new RequestRate();
  const take = (nowMs: number) => gate.take("account", { requests: 2, seconds: 10 }, nowMs);
  assert.deepEqual(waits([take(0), take(0)]), [["wait", 0], ["wait", 0]]);
  assert.deepEqual(waits([take(0), take(0), take(0)]), [["later", 15_000], ["later", 20_000], [
    "later",
    25_000,
  ]]);
  // None of them has taken the turns at 10 s.
  assert.deepEqual(waits([take(8_000), take(9_000), take(9_000)]), [
    ["wait", 2_000],
    ["wait", 1_000],
    ["later", 21_000],
  ]);
});

test("an event is postponed by at most an hour", () => {
  const gate = new RequestRate();
  const slow = { requests: 1, seconds: 3_600 };
  gate.take("account", slow, 0);
  for (let count = 0; count < 3; count++) {
    assert.deepEqual(gate.take("account", slow, 0), { kind: "later", ms: 3_600_000 });
  }
});

test("each credential has its own rate", () => {
  const gate = new RequestRate();
  const one = { requests: 1, seconds: 60 };
  assert.deepEqual(gate.take("a", one, 0), { kind: "wait", ms: 0 });
  assert.deepEqual(gate.take("b", one, 0), { kind: "wait", ms: 0 });
  assert.equal(gate.take("a", one, 0).kind, "later");
});

test("of more than 10,000 credentials, the one that was used least recently is forgotten", () => {
  const gate = new RequestRate();
  const one = { requests: 1, seconds: 3_600 };
  const kinds = (credentials: readonly string[]) =>
    credentials.map((credential) => gate.take(credential, one, 0).kind);
  kinds(["first", "second"]);
  kinds(Array.from({ length: 9_998 }, (_, index) => `account ${index}`));
  assert.deepEqual(kinds(["first", "second"]), ["later", "later"]);
  // Removes the first of the accounts in between.
  kinds(["one more"]);
  assert.deepEqual(kinds(["first", "second", "account 1", "account 0"]), ["later", "later", "later", "wait"]);
});

test("a changed rate applies to the requests that follow", () => {
  const gate = new RequestRate();
  for (let count = 0; count < 5; count++) gate.take("account", { requests: 5, seconds: 1 }, 0);
  assert.equal(gate.take("account", { requests: 1, seconds: 2 }, 0).ms, 2_000);
  assert.deepEqual(gate.take("account", { requests: 2, seconds: 1 }, 5_000), { kind: "wait", ms: 0 });
});
