import assert from "node:assert/strict";
import test from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import type { TierFailure } from "../../src/delivery/send.ts";

const refused: TierFailure = { cause: "refused", code: "ECONNREFUSED" };
const cut: TierFailure = { cause: "cut", code: "ECONNRESET" };

function makeBreaker() {
  const news: (string | null)[] = [];
  const changes: string[] = [];
  const breaker: Breaker = new Breaker({
    failuresMax: 3,
    pauseMs: 1_000,
    pauseCapMs: 4_000,
    silenceMaxMs: 10_000,
    concurrency: 16,
    onNews: (failure) => news.push(failure?.cause ?? null),
    onChange: () => changes.push(breaker.state),
  }, 0);
  const probed = (nowMs: number, failure: TierFailure | null = null) => {
    if (failure === null) breaker.reached(nowMs);
    else breaker.failed(failure, { nowMs, isSent: false, isProbe: true });
  };
  const delivered = (nowMs: number) => breaker.answered(nowMs);
  const unanswered = (nowMs: number) => breaker.failed(cut, { nowMs, isSent: true });
  const unsent = (nowMs: number) => breaker.failed(refused, { nowMs, isSent: false });
  return { breaker, news, changes, probed, delivered, unanswered, unsent };
}

test("what was not sent opens it at once", () => {
  const { breaker, news, unsent } = makeBreaker();
  unsent(100);
  assert.equal(breaker.state, "open");
  assert.equal(breaker.allowed, 0);
  assert.equal(breaker.probeAtMs, 1_100);
  assert.deepEqual(news, ["refused"]);
});

test("three events in a row that were sent and got no answer, or 503, open it, and two do not", () => {
  const { breaker, unanswered, delivered, probed } = makeBreaker();
  for (let round = 0; round < 10; round += 1) {
    unanswered(0);
    unanswered(0);
    probed(0);
    assert.equal(breaker.state, "closed");
    delivered(0);
  }
  unanswered(0);
  unanswered(0);
  probed(0);
  unanswered(0);
  assert.equal(breaker.state, "open", "a connection says nothing of events");
});

test("after such an opening one event at a time goes, until one is answered", () => {
  const { breaker, changes, unanswered, delivered, probed } = makeBreaker();
  for (let event = 0; event < 3; event += 1) unanswered(0);
  probed(1_000);
  assert.deepEqual([breaker.state, breaker.allowed], ["half_open", 1]);
  unanswered(1_100);
  assert.deepEqual([breaker.state, breaker.allowed], ["open", 0]);
  probed(3_100);
  delivered(3_200);
  assert.equal(breaker.state, "closed");
  unanswered(3_300);
  assert.equal(breaker.state, "closed");
  assert.deepEqual(changes, ["open", "half_open", "open", "half_open", "closed"]);
});

test("the pause doubles up to its cap while probes fail, and begins small again after an answered delivery", () => {
  const { breaker, unsent, probed, delivered } = makeBreaker();
  let nowMs = 0;
  unsent(nowMs);
  const pauses: number[] = [];
  for (let probe = 0; probe < 4; probe += 1) {
    pauses.push(breaker.probeAtMs - nowMs);
    nowMs = breaker.probeAtMs;
    probed(nowMs, refused);
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 4_000]);
  probed(nowMs);
  unsent(nowMs);
  assert.equal(breaker.probeAtMs - nowMs, 4_000, "it takes connections, and no event");
  probed(nowMs);
  delivered(nowMs);
  delivered(nowMs);
  unsent(nowMs);
  assert.equal(breaker.probeAtMs - nowMs, 1_000);
});

test("after the tier's return the load rises answer by answer: no thundering herd", () => {
  const { breaker, news, unsent, probed, delivered } = makeBreaker();
  unsent(0);
  probed(1_000);
  const allowed: number[] = [];
  for (let answer = 0; answer < 16; answer += 1) {
    allowed.push(breaker.allowed);
    delivered(1_000);
  }
  assert.deepEqual(allowed, Array.from({ length: 16 }, (_, answers) => answers + 1));
  assert.equal(breaker.allowed, 16);
  assert.deepEqual(news, ["refused", null]);
});
