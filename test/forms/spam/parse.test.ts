import assert from "node:assert/strict";
import test from "node:test";
import { parseSubmission, scoredFieldsMax } from "../../../src/forms/spam/parse.ts";
import { defaultThreshold } from "../../../src/forms/spam/score.ts";
import { message, score, submissionOf } from "../../support/forms/score.ts";

const roof = message("We need a new roof. When could somebody look at it?");

test("a submission with over 200 fields is held", () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, "x"]));
  const most = scoredFieldsMax - Object.keys(roof).length;
  assert.ok(score({ ...fields(most), ...roof }).score < defaultThreshold);
  const posted = { ...roof, ...fields(most + 1) };
  const questions = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at} ${"how? ".repeat(20)}`, "x"]));
  for (const held of [posted, questions(scoredFieldsMax + 1)]) {
    assert.deepEqual([score(held).score, score(held).reasons.includes("unreviewed")], [100, true]);
  }
  assert.ok(!score(questions(scoredFieldsMax)).reasons.includes("unreviewed"), "long names are not fields");
});

test("a question as a field's name is scored like text: it may be a disclosure, but not a pitch", () => {
  const question = "Do you agree to receive calls and text messages from Acme Roofing about your request? " +
    "Message and data rates may apply. Reply STOP to opt out. Consent is not a condition of purchase.";
  assert.ok(score({ ...roof, [question]: "Yes" }).score < defaultThreshold);
  const pitch =
    "We offer SEO services, backlinks and guest posts to rank your website on the first page of Google";
  assert.ok(score({ ...roof, [pitch]: "Yes" }).score >= defaultThreshold);
});

test("blank fields, false and null are not counted", () => {
  const blank = Object.fromEntries(
    Array.from({ length: 500 }, (_, at) => [`f${at}`, [null, false, " "][at % 3] ?? null]),
  );
  assert.equal(score({ ...blank, ...roof }).score, score(roof).score);
});

test("the message is read first, and words in names and places are not scored", () => {
  const { fields } = parseSubmission(submissionOf({ a_b: "first", ...roof, zip: "97201" }));
  assert.equal(fields[0]?.role, "message");
  const named = (name: string, city: string) => score({ ...roof, name, city }).score;
  assert.equal(named("Ada Brook", "Portland"), named("Ann Seo", "Casino"));
});
