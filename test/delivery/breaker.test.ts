import assert from "node:assert/strict";
import test from "node:test";
import { Breaker, type BreakerState } from "../../src/delivery/breaker.ts";

function makeBreaker() {
  const states: BreakerState[] = [];
  const breaker = new Breaker({
    failuresMax: 3,
    pauseMs: 1_000,
    pauseCapMs: 4_000,
    concurrency: 16,
    onChange: (state) => states.push(state),
  });
  return { breaker, states };
}

function open(breaker: Breaker, nowMs: number): void {
  for (let failure = 0; failure < 3; failure += 1) breaker.failed(nowMs);
}

test("A closed breaker allows all that is configured", () => {
  const { breaker } = makeBreaker();
  assert.equal(breaker.state, "closed");
  assert.equal(breaker.allowed(0), 16);
});

test("Failures with an answer between them do not open it", () => {
  const { breaker, states } = makeBreaker();
  for (let round = 0; round < 10; round += 1) {
    breaker.failed(0);
    breaker.failed(0);
    breaker.answered();
  }
  assert.deepEqual(states, []);
});

test("Failures in a row open it, and nothing is allowed until the pause is over", () => {
  const { breaker, states } = makeBreaker();
  open(breaker, 100);
  assert.deepEqual(states, ["open"]);
  assert.equal(breaker.allowed(1_099), 0);
  assert.equal(breaker.probeAtMs, 1_100);
});

test("After the pause one probe is allowed, and no second beside it", () => {
  const { breaker, states } = makeBreaker();
  open(breaker, 0);
  assert.equal(breaker.allowed(1_000), 1);
  assert.equal(breaker.allowed(1_000), 1, "the loop compares this with what is in flight");
  assert.deepEqual(states, ["open", "half_open"]);
  assert.equal(breaker.probeAtMs, null);
});

test("A failed probe doubles the pause, up to its cap", () => {
  const { breaker } = makeBreaker();
  let nowMs = 0;
  open(breaker, nowMs);
  const pauses: number[] = [];
  for (let probe = 0; probe < 4; probe += 1) {
    nowMs = breaker.probeAtMs as number;
    assert.equal(breaker.allowed(nowMs), 1);
    breaker.failed(nowMs);
    pauses.push((breaker.probeAtMs as number) - nowMs);
  }
  assert.deepEqual(pauses, [2_000, 4_000, 4_000, 4_000]);
});

test("Failures that were in flight when it opened do not put the probe off", () => {
  const { breaker, states } = makeBreaker();
  open(breaker, 0);
  breaker.failed(900);
  assert.equal(breaker.probeAtMs, 1_000);
  assert.deepEqual(states, ["open"]);
});

test("After the tier's return the load rises answer by answer: no thundering herd", () => {
  const { breaker, states } = makeBreaker();
  open(breaker, 0);
  breaker.allowed(1_000);
  breaker.answered();
  assert.deepEqual(states, ["open", "half_open", "closed"]);
  const allowed: number[] = [];
  for (let answer = 0; answer < 16; answer += 1) {
    allowed.push(breaker.allowed(1_000));
    breaker.answered();
  }
  assert.equal(allowed[0], 2);
  assert.deepEqual(allowed, [...allowed].sort((a, b) => a - b));
  assert.equal(breaker.allowed(1_000), 16);
});

test("After a return the pause begins small again", () => {
  const { breaker } = makeBreaker();
  open(breaker, 0);
  breaker.allowed(1_000);
  breaker.failed(1_000);
  breaker.allowed(3_000);
  breaker.answered();
  open(breaker, 5_000);
  assert.equal(breaker.probeAtMs, 6_000);
});
