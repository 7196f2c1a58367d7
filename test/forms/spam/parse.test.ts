import assert from "node:assert/strict";
import test from "node:test";
import { parseSubmission, scoredFieldsMax, scoredNameMax } from "../../../src/forms/spam/parse.ts";
import { defaultThreshold } from "../../../src/forms/spam/score.ts";
import { message, score, submissionOf } from "../../support/forms/score.ts";

const roof = message("We need a new roof. When could somebody look at it?");

test("a submission with over 200 fields or a field name of over 120 characters is held", () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, "x"]));
  const most = scoredFieldsMax - Object.keys(roof).length;
  assert.ok(score({ ...fields(most), ...roof }).score < defaultThreshold);
  for (
    const posted of [{ ...roof, ...fields(most + 1) }, { ...roof, ["n".repeat(scoredNameMax + 1)]: "x" }]
  ) {
    assert.deepEqual([score(posted).score, score(posted).reasons.includes("unreviewed")], [100, true]);
  }
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
