import assert from "node:assert/strict";
import test from "node:test";
import { explainScore } from "../../../src/forms/spam/explain.ts";
import { LessonCounts, weighLessons } from "../../../src/forms/spam/lessons.ts";
import type { Lessons } from "../../../src/forms/spam/model.ts";
import { defaultThreshold, scoreSubmission } from "../../../src/forms/spam/score.ts";
import { readCases } from "../../support/forms/cases.ts";
import { type Fields, message, nowMs, submissionOf } from "../../support/forms/score.ts";

const woods = ["oak", "ash", "elm", "pine", "maple", "birch", "beech", "cherry", "walnut", "hickory"];
/** What the customers of a mill write, who all want boards ranked. */
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
  return weighLessons(counts.lessons);
}

const scoreOf = (fields: Fields, lessons?: Lessons) =>
  scoreSubmission(submissionOf(fields), { blocked: [], receivedAtMs: nowMs, ...lessons && { lessons } })
    .score;

test("an installation whose customers all write about one odd thing stops holding them after a few releases", () => {
  const [last = ""] = orders.slice(-1);
  assert.ok(scoreOf(message(last)) >= defaultThreshold, "held at first");
  assert.ok(scoreOf(message(last), taught(orders.slice(0, 6), false)) < defaultThreshold);
});

test("one click, and a hundred of one sender, move no score", () => {
  for (const isSpam of [false, true]) {
    assert.equal(taught(orders.slice(0, 1), isSpam).size, 0);
    assert.equal(taught(Array(100).fill(orders[0]), isSpam, () => "one").size, 0);
  }
});

test("what was learned of one thing moves the score of nothing else, and still holds a pitch that has its word", () => {
  const lessons = taught(orders, false);
  const cases = readCases("held_out.jsonl");
  const known = new RegExp(`\\b(${[...new Set(orders.join(" ").split(/[ ,]+/))].join("|")})\\b|\\d`, "i");
  const others = cases.filter(({ fields }) => !known.test(Object.values(fields).join(" ")));
  assert.ok(others.length > 100);
  for (const { id, fields } of others) assert.equal(scoreOf(fields, lessons), scoreOf(fields), id);
  const pitch = "We offer SEO services and top ranking for your website on the first page of Google";
  assert.ok(scoreOf(message(pitch), lessons) >= defaultThreshold);
});

test("dismissing what is held raises no score of what people write", () => {
  const cases = readCases("held_out.jsonl");
  const isHeld = ({ fields }: { readonly fields: Fields }, lessons?: Lessons) =>
    scoreOf(fields, lessons) >= defaultThreshold;
  const counts = new LessonCounts();
  for (const one of cases.filter(({ author }) => author === "j" || author === "k")) {
    if (one.label === "spam" && isHeld(one)) {
      counts.add(submissionOf(one.fields), { isSpam: true, sender: one.id });
    }
  }
  const lessons = weighLessons(counts.lessons);
  assert.ok(lessons.size > 100);
  const ham = cases.filter(({ author, label }) => label === "ham" && (author === "l" || author === "m"));
  const held = ham.filter((one) => isHeld(one)).length;
  assert.ok(ham.filter((one) => isHeld(one, lessons)).length <= held + 1);
});

test("an explanation names the signs and the words of the text that weigh most, with their shares", () => {
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
