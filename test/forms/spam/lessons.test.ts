import assert from "node:assert/strict";
import test from "node:test";
import { explainScore } from "../../../src/forms/spam/explain.ts";
import { LessonCounts, lessonWeights } from "../../../src/forms/spam/lessons.ts";
import type { Lessons } from "../../../src/forms/spam/model.ts";
import { defaultThreshold, scoreSubmission } from "../../../src/forms/spam/score.ts";
import { readCases } from "../../support/forms/cases.ts";
import { type Fields, message, nowMs, submissionOf } from "../../support/forms/score.ts";

const woods = ["oak", "ash", "elm", "pine", "maple", "birch", "beech", "cherry", "walnut", "hickory"];
/** Messages of a sawmill's customers, who all want boards ranked. */
const orders = woods.map((wood, at) =>
  `We offer ${20 + at} ${wood} boards for ranking, top ranking guaranteed by our mill, free delivery`
);

function taught(
  texts: readonly string[],
  isSpam: boolean,
  senderOf = (at: number) => `sender ${at}`,
): Lessons {
  const counts = new LessonCounts();
  for (const [at, text] of texts.entries()) {
    counts.add(submissionOf(message(text)), { isSpam, sender: senderOf(at) });
  }
  return lessonWeights(counts.lessons);
}

const scoreOf = (fields: Fields, lessons?: Lessons) =>
  scoreSubmission(submissionOf(fields), { blocked: [], receivedAtMs: nowMs, ...lessons && { lessons } })
    .score;

test("messages about one unusual topic are no longer held after a few releases", () => {
  const [last = ""] = orders.slice(-1);
  assert.ok(scoreOf(message(last)) >= defaultThreshold, "held at first");
  assert.ok(scoreOf(message(last), taught(orders.slice(0, 6), false)) < defaultThreshold);
});

test("one label, or a hundred from one sender, change no score", () => {
  for (const isSpam of [false, true]) {
    assert.equal(taught(orders.slice(0, 1), isSpam).size, 0);
    assert.equal(taught(Array(100).fill(orders[0]), isSpam, () => "one").size, 0);
  }
});

test("lessons about one topic change no other score, and a pitch with its words is still held", () => {
  const lessons = taught(orders, false);
  const cases = readCases("held_out.jsonl");
  const known = new RegExp(`\\b(${[...new Set(orders.join(" ").split(/[ ,]+/))].join("|")})\\b|\\d`, "i");
  const others = cases.filter(({ fields }) => !known.test(Object.values(fields).join(" ")));
  assert.ok(others.length > 100);
  for (const { id, fields } of others) assert.equal(scoreOf(fields, lessons), scoreOf(fields), id);
  const pitch = "We offer SEO services and top ranking for your website on the first page of Google";
  assert.ok(scoreOf(message(pitch), lessons) >= defaultThreshold);
});

test("dismissing held spam holds at most one more wanted message", () => {
  const cases = readCases("held_out.jsonl");
  const isHeld = ({ fields }: { readonly fields: Fields }, lessons?: Lessons) =>
    scoreOf(fields, lessons) >= defaultThreshold;
  const counts = new LessonCounts();
  for (const one of cases.filter(({ author }) => author === "j" || author === "k")) {
    if (one.label === "spam" && isHeld(one)) {
      counts.add(submissionOf(one.fields), { isSpam: true, sender: one.id });
    }
  }
  const lessons = lessonWeights(counts.lessons);
  assert.ok(lessons.size > 100);
  const ham = cases.filter(({ author, label }) => label === "ham" && (author === "l" || author === "m"));
  const held = ham.filter((one) => isHeld(one)).length;
  assert.ok(ham.filter((one) => isHeld(one, lessons)).length <= held + 1);
});

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
