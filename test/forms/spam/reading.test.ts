import assert from "node:assert/strict";
import test from "node:test";
import { judgedFieldsMax, readSubmission } from "../../../src/forms/spam/reading.ts";
import { judgedStepsMax, stepsOf } from "../../../src/forms/spam/work.ts";
import { message, submissionOf } from "../../support/forms/score.ts";

test("of a submission 200 fields and 24,000 steps are judged, shared evenly: what is short stays whole", () => {
  const ends = "x".repeat(30_000);
  const long = readSubmission(submissionOf({ ...message(`${ends} middle ${ends}`), notes: "short" }));
  assert.deepEqual(long.filter(({ text }) => text.length < 100).length, 4);

  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`f${at}`, "x"]));
  const many = readSubmission(submissionOf({ ...fields, ...message("We need a new roof.") }));
  assert.equal(many.length, judgedFieldsMax);
  assert.ok(many.some(({ role, text }) => role === "message" && text === "We need a new roof."));

  const units = ["x", "ab ", "a.b/ ", "é", "요", "мы ", "\ufdfa", "㌖", "⒇", "𝒜", "💰", "http://a.b/ "];
  for (const unit of units) {
    for (const parts of [1, 7, 300]) {
      const part = unit.repeat(Math.ceil(64_000 / parts / unit.length));
      const names = Array.from({ length: parts }, (_, at) => [`${part.slice(0, at % 100)}${at}`, part]);
      const reading = readSubmission(submissionOf(Object.fromEntries(names)));
      const steps = reading.reduce((sum, { text }) => sum + stepsOf(text, Infinity), 0);
      assert.ok(steps <= judgedStepsMax, `${parts} of ${unit}: ${steps}`);
      const folded = reading.reduce((sum, one) => sum + one.folded.length, 0);
      assert.ok(folded <= judgedStepsMax, `${parts} of ${unit}: ${folded} characters`);
    }
  }
});

test("eight thousand characters of a customer's prose, and four thousand of another script, are judged whole", () => {
  const letters = [
    "We had water at the chimney when it rained last spring, and somebody should look at the roof (1998). ",
    "El techo gotea desde la última tormenta; también quisiéramos un presupuesto para la cocina, ¿sí? ",
  ];
  const others = [
    "Здравствуйте, нужно заменить крышу на доме. ",
    "我想装修厨房和两个浴室,请问可以免费估价吗?",
  ];
  for (const [texts, length] of [[letters, 8_000], [others, 4_000]] as const) {
    for (const text of texts) {
      const whole = text.repeat(Math.floor(length / text.length));
      const [judged] = readSubmission(submissionOf({ message: whole }));
      assert.ok(judged?.text === whole.trim(), `${length} of ${text}`);
    }
  }
});
