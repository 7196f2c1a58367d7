import assert from "node:assert/strict";
import { test } from "node:test";
import { learner } from "../../../src/forms/learning.ts";
import { scoreSubmission } from "../../../src/forms/spam/score.ts";
import { SpamLearning } from "../../../src/store/jobs/spam_learning.ts";
import { releaseSubmission } from "../../../src/store/operator/held.ts";
import { createRole } from "../../support/actions/actions_process.ts";
import { acceptPosts } from "../../support/accept.ts";
import { message, nowMs, submissionOf } from "../../support/forms/score.ts";
import { openPool } from "../../support/pool.ts";
import { ctl } from "../../support/server.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const owner = testEnv.sql;
const databaseUrl = testEnv.database.url;
const on = { databaseUrl };
/** As the service's role, which learns. */
const pool = openPool((await createRole(databaseUrl, "lead_service")).url);
const { form, key } = await testEnv.formWithKey();
const posted = { keyId: key.id, formId: form.id };

const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const text = (at: number) =>
  `Top ranking, ${days[at % 7]} guaranteed, we offer ${days[(at + 3) % 7]} results for your business website`;

async function store(verdict: "spam" | "clean", at: number): Promise<string> {
  const fields = { ...message(text(at)), email: `sam${at}@example.com` };
  const [row] = await acceptPosts(owner, [
    { ...posted, space: "C", lead: JSON.stringify(fields), verdict, score: 90, reasons: "wording" },
  ]);
  return row?.event_id as string;
}

/** Returns the score of a further message in a process that has just learned. */
async function learnedScore(): Promise<number> {
  const learning = new SpamLearning(pool, learner);
  await learning.runOnce();
  const submission = submissionOf(message(text(6)));
  return scoreSubmission(submission, { blocked: [], receivedAtMs: nowMs, lessons: learning.current }).score;
}

test("releases and reports train the score in every process, and erased or withdrawn labels are forgotten", async () => {
  const untaught = await learnedScore();
  const held = await Promise.all([1, 2, 3].map((at) => store("spam", at)));
  for (const id of held) await releaseSubmission(pool, id, "127.0.0.1");
  const released = await learnedScore();
  assert.ok(released < untaught, `${released} < ${untaught}`);
  assert.equal(await learnedScore(), released);

  const [first = ""] = held;
  await ctl(["form", "spam", first], on);
  assert.ok(await learnedScore() > released, "the one that was released and then reported");
  await ctl(["form", "spam", first, "--undo"], on);
  assert.equal(await learnedScore(), released);

  await owner`select erase_event(${first}, null, '{}')`;
  assert.equal(await learnedScore(), untaught, "two are left: too few to keep a word of");
  const [row] = await owner`select hashes, ham, spam from spam_lessons`;
  assert.deepEqual({ ...row }, { hashes: [], ham: [], spam: [] });
});

test("form forget-learning deletes all labels at once and is audited", async () => {
  const untaught = await learnedScore();
  for (const id of await Promise.all([4, 5].map((at) => store("spam", at)))) {
    await releaseSubmission(pool, id, "127.0.0.1");
  }
  assert.ok(await learnedScore() < untaught);
  assert.equal((await ctl(["form", "forget-learning"], on)).forgotten, 4);
  assert.equal(await learnedScore(), untaught);
  const [row] = await owner`select action from audit order by id desc limit 1`;
  assert.equal(row?.action, "spam.forget");
});

test("form spam refuses a submission that is undelivered, unknown or already reported", async () => {
  const [delivered, held] = [await store("clean", 21), await store("spam", 22)];
  await ctl(["form", "spam", delivered], on);
  for (const id of [delivered, held, delivered.replace(/^../, "00")]) {
    await assert.rejects(ctl(["form", "spam", id], on), /already|not delivered|no submission/);
  }
});
