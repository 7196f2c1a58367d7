import assert from "node:assert/strict";
import test from "node:test";
import { failureCauses } from "../../../src/delivery/send.ts";
import { failureText, type SeenTier, type ShownTier, tierTile } from "../../../src/ops/console/problems.ts";

const answering: SeenTier = {
  state: "closed",
  answeredAgoMs: 3_000,
  reachedAgoMs: 3_000,
  failure: null,
  awayMs: null,
};
const unheard = { answeredAgoMs: null, reachedAgoMs: null };
const tile = (tier: ShownTier) => {
  const { name, tone, small } = tierTile(tier);
  return `${tone}: ${name}: ${small.text.replaceAll(/<[^>]*>/g, "").replaceAll("&#39;", "'")}`;
};

test("the tile has the last answer's age, and the last failure in words", () => {
  assert.equal(tile(answering), "null: answers: last answer 3 s ago");
  const failure = { cause: "cut", code: "ECONNRESET", agoMs: 7_200_000 };
  assert.equal(
    tile({ ...answering, failure }),
    "null: answers: last answer 3 s ago; last failure 2 h ago: it cut the connection instead of answering (ECONNRESET)",
  );
  assert.equal(
    tile({ state: "open", ...unheard, failure: { ...failure, cause: "refused" }, awayMs: 40_000 }),
    "bad: does not answer: for 40 s: nothing listens at ACTIONS_URL (ECONNRESET); no answer since this process started",
  );
});

test("every cause has words of its own, and a certificate's fault more than its cause", () => {
  const words = failureCauses.map((cause) => failureText({ cause, code: "E" }).text);
  assert.equal(new Set(words).size, failureCauses.length);
  assert.ok(words.every((text) => !text.includes("it does not answer (")));
  const expired = failureText({ cause: "handshake", code: "CERT_HAS_EXPIRED" }).text;
  assert.equal(expired, "its certificate has expired (<code>CERT_HAS_EXPIRED</code>)");
});
