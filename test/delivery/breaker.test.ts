import assert from "node:assert/strict";
import test from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import type { TierFailure } from "../../src/delivery/tier_failure.ts";

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

test("a closed breaker has a connection tried only after a silence", () => {
  const { breaker, delivered, probed } = makeBreaker();
  assert.equal(breaker.probeAtMs, 10_000);
  delivered(7_000);
  assert.equal(breaker.probeAtMs, 17_000);
  probed(17_000);
  assert.equal(breaker.probeAtMs, 27_000);
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

test("failures that were in flight when it opened do not put the probe off", () => {
  const { breaker, news, unsent, unanswered } = makeBreaker();
  unsent(0);
  unsent(900);
  unanswered(950);
  assert.equal(breaker.probeAtMs, 1_000);
  assert.deepEqual(news, ["refused"]);
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

test("it is news when it opens, when the cause is another one, and when it closes, and not each failed probe", () => {
  const { news, unsent, probed } = makeBreaker();
  unsent(0);
  probed(1_000, refused);
  probed(3_000, refused);
  probed(7_000, { cause: "handshake", code: "CERT_HAS_EXPIRED" });
  probed(11_000, { cause: "handshake", code: "CERT_HAS_EXPIRED" });
  probed(15_000);
  assert.deepEqual(news, ["refused", "handshake", null]);
});

test("the tier's standing has its last answer, its last failure, and since when it is away", () => {
  const { breaker, unsent, probed, delivered } = makeBreaker();
  delivered(0);
  assert.deepEqual(breaker.standing(500), {
    state: "closed",
    answeredAgoMs: 500,
    reachedAgoMs: 500,
    failure: null,
    awayMs: null,
  });
  unsent(2_000);
  probed(3_000, refused);
  assert.deepEqual(breaker.standing(4_000), {
    state: "open",
    answeredAgoMs: 4_000,
    reachedAgoMs: 4_000,
    failure: { ...refused, agoMs: 1_000 },
    awayMs: 2_000,
  });
  probed(5_000);
  const { answeredAgoMs, reachedAgoMs, awayMs, failure } = breaker.standing(6_000);
  assert.deepEqual([answeredAgoMs, reachedAgoMs, awayMs, failure?.agoMs], [6_000, 1_000, null, 3_000]);
});
