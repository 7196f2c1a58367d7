import assert from "node:assert/strict";
import test from "node:test";
import { explainScore } from "../../../src/forms/spam/explain.ts";
import { nowMs, submissionOf } from "../../support/forms/score.ts";

test("an explanation names the signals and words with the largest shares", () => {
  const fields = {
    name: "http://rank.example",
    message: "Hola. We will bring your website to the first page of Google, unsubscribe here",
  };
  const shares = explainScore(submissionOf(fields), nowMs, new Map());
  assert.ok(shares.length <= 6 && shares.reduce((sum, { percent }) => sum + percent, 0) <= 100);
  assert.deepEqual(
    shares.map(({ percent }) => percent),
    shares.map(({ percent }) => percent).sort((a, b) => b - a),
  );
  assert.ok(shares.some((share) => "reason" in share && share.reason === "link_in_name"));
  assert.match(shares.map((share) => "words" in share ? share.words : "").join("|"), /first page/);
  assert.deepEqual(explainScore(submissionOf({}), nowMs, new Map()), []);
});
