import assert from "node:assert/strict";
import { test } from "node:test";
import { storedFeatures } from "../../../src/forms/learning.ts";
import { defaultThreshold, scoreSubmission } from "../../../src/forms/spam/score.ts";
import { SpamLearning } from "../../../src/store/jobs/spam_learning.ts";
import { dismissSubmission, releaseSubmission } from "../../../src/store/operator/held.ts";
import { addressDigest, HeldLinkStore } from "../../../src/store/serving/held_links.ts";
import { createRole } from "../../support/actions/actions_process.ts";
import { acceptPosts } from "../../support/accept.ts";
import { readCases } from "../../support/forms/cases.ts";
import { type Fields, message, nowMs, scoreCase, submissionOf } from "../../support/forms/score.ts";
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
const decision = { operator: "Ada", labelFeatures: storedFeatures };

const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const text = (at: number) =>
  `Top ranking, ${days[at % 7]} guaranteed, we offer ${days[(at + 3) % 7]} results for your business website`;
const woods = ["oak", "ash", "elm", "pine", "maple", "birch", "beech", "cherry", "walnut", "hickory"];
/** Messages of a sawmill's customers, who all want boards ranked. */
const orders = woods.map((wood, at) =>
  `We offer ${20 + at} ${wood} boards for ranking, top ranking guaranteed by our mill, free delivery`
);

const scoreOf = (fields: Fields, lessons = new Map<number, number>()) =>
  scoreSubmission(submissionOf(fields), { blocked: [], receivedAtMs: nowMs, lessons }).score;

/** Stores submissions of different senders with their scores, and returns their ids. */
async function store(
  verdict: "spam" | "clean",
  fields: readonly Fields[],
  sender?: string,
): Promise<string[]> {
  const ids: string[] = [];
  for (const one of fields) {
    const [row] = await acceptPosts(owner, [
      { ...posted, space: "C", lead: JSON.stringify(one), verdict, score: scoreOf(one), reasons: "wording" },
    ]);
    ids.push(row?.event_id as string);
  }
  if (sender !== undefined) {
    await owner`update submission set email = ${sender} where event_id = any (${ids})`;
  }
  return ids;
}

const release = async (ids: readonly string[]) => {
  for (const id of ids) assert.equal(await releaseSubmission(pool, id, decision), "released");
};
const dismiss = async (ids: readonly string[]) => {
  for (const id of ids) assert.equal(await dismissSubmission(pool, id, decision), "dismissed");
};
const forget = () => ctl(["form", "forget-learning"], on);

/** Returns what a process that has just started scores with. */
async function lessons(tenant = form.tenant.slug, isOn = true) {
  const learning = new SpamLearning(pool, { isOn });
  await learning.runOnce();
  return learning.lessonsFor(tenant) as Map<number, number>;
}

/** Returns the score of a further message. */
const learnedScore = async () => scoreOf(message(text(6)), await lessons());

test("releases and reports train the score in every process, and erased or withdrawn labels are forgotten", async () => {
  const untaught = await learnedScore();
  const held = await store("spam", [1, 2, 3].map((at) => message(text(at))));
  await release(held);
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
  assert.equal((await lessons()).size, 0);
  assert.deepEqual([...await owner`select event_id from spam_label where event_id = ${first}`], []);
});

test("form forget-learning deletes all labels at once and is audited", async () => {
  await forget();
  const untaught = await learnedScore();
  await release(await store("spam", [4, 5, 6].map((at) => message(text(at)))));
  assert.ok(await learnedScore() < untaught);
  assert.equal((await forget()).forgotten, 3);
  assert.equal(await learnedScore(), untaught);
  const [row] = await owner`select action from audit order by id desc limit 1`;
  assert.equal(row?.action, "spam.forget");
});

test("learning that is switched off forgets within a run, and stores nothing of what the labels taught", async () => {
  await release(await store("spam", [1, 2, 3].map((at) => message(text(at)))));
  assert.ok((await lessons()).size > 0);
  assert.equal((await lessons(form.tenant.slug, false)).size, 0);
  const [row] = await owner`
    select (select count(*)::int from spam_label) as labels, (select sum(cardinality(hashes))::int from spam_lessons) as words,
      (select count(*)::int from submission where label = 'ham') as reviewed`;
  assert.deepEqual({ ...row }, { labels: 0, words: 0, reviewed: 3 });
  assert.equal((await lessons()).size, 0, "nor is it back when learning is on again");
  await forget();
});

test("messages about one unusual topic are no longer held after a few releases; other scores stay", async () => {
  const [last = ""] = orders.slice(-1);
  assert.ok(scoreOf(message(last)) >= defaultThreshold, "held at first");
  await release(await store("spam", orders.slice(0, 6).map(message)));
  const learned = await lessons();
  assert.ok(scoreOf(message(last), learned) < defaultThreshold);
  const known = new RegExp(`\\b(${[...new Set(orders.join(" ").split(/[ ,]+/))].join("|")})\\b|\\d`, "i");
  const others = readCases("held_out.jsonl").filter(({ fields }) =>
    !known.test(Object.values(fields).join(" "))
  );
  assert.ok(others.length > 100);
  for (const { id, fields } of others) assert.equal(scoreOf(fields, learned), scoreOf(fields), id);
  const pitch = "We offer SEO services and top ranking for your website on the first page of Google";
  assert.ok(scoreOf(message(pitch), learned) >= defaultThreshold);
  await forget();
});

test("one label, or a hundred from one sender, change no score", async () => {
  await dismiss(await store("spam", orders.slice(0, 1).map(message)));
  await release(await store("spam", Array(100).fill(message(orders[1] as string)), "sam@example.com"));
  assert.equal((await lessons()).size, 0);
  await forget();
});

test("dismissing held spam holds at most one more wanted message", async () => {
  const cases = readCases("held_out.jsonl");
  const spam = cases.filter((one) =>
    (one.author === "j" || one.author === "k") && one.label === "spam" &&
    scoreCase(one).score >= defaultThreshold
  );
  await dismiss(await store("spam", spam.map(({ fields }) => fields)));
  const learned = await lessons();
  assert.ok(learned.size > 100);
  const ham = cases.filter(({ author, label }) => label === "ham" && (author === "l" || author === "m"));
  const held = (weights?: Map<number, number>) =>
    ham.filter(({ fields }) => scoreOf(fields, weights) >= defaultThreshold).length;
  assert.ok(held(learned) <= held() + 1);
  await forget();
});

test("a customer's releases teach the customer's own forms; after a withdrawn report, still only those", async () => {
  const links = new HeldLinkStore(pool, storedFeatures);
  const address = "boss@acme.example";
  await owner`update tenant set digest_actions = true where id = ${form.tenant.id}`;
  await owner`insert into actions.route (tenant_id, kind, address) values (${form.tenant.id}, 'email', ${address})`;
  const expiresAtSeconds = Math.floor(Date.now() / 1000) + 3600;
  const ids = await store("spam", orders.slice(0, 4).map(message));
  for (const submissionId of ids) {
    const link = { submissionId, addressDigest: addressDigest(address), expiresAtSeconds };
    assert.equal(await links.release(link, "127.0.0.1"), "held");
  }
  const other = (await testEnv.formWithKey()).form.tenant.slug;
  assert.ok((await lessons()).size > 0);
  assert.equal((await lessons(other)).size, 0);
  const before = scoreOf(message(orders[5] as string), await lessons());
  await ctl(["form", "spam", ids[0] as string], on);
  await ctl(["form", "spam", ids[0] as string, "--undo"], on);
  assert.equal(scoreOf(message(orders[5] as string), await lessons()), before);
  assert.equal((await lessons(other)).size, 0);

  await release(await store("spam", [1, 2, 3].map((at) => message(text(at)))));
  const [own, shared] = [await lessons(), await lessons(other)];
  assert.ok(shared.size > 0 && own.size > shared.size, "an operator's releases teach all forms");
  await forget();
});

test("a label stores at most 256 hashes, learning reads no content, and a customer's last 1,000 labels count", async () => {
  // No word is in two of the texts.
  const words = (index: number) =>
    Array.from(
      { length: 9_000 },
      (_, at) => "abcdefghijkl"[index] + String(at).replace(/./g, (digit) => "mnopqrstuv"[+digit] ?? ""),
    )
      .join(" ");
  const ids = await store("spam", Array.from({ length: 12 }, (_, at) => message(words(at).slice(0, 60_000))));
  await dismiss(ids);
  const [sizes] =
    await owner`select min(cardinality(features)) as least, max(cardinality(features)) as most from spam_label`;
  assert.deepEqual({ ...sizes }, { least: 256, most: 256 });
  assert.equal((await lessons()).size, 0, "random words of different senders are not learned");

  await forget();
  await release(await store("spam", [1, 2, 3].map((at) => message(text(at)))));
  await owner`update event set lead = null, removed_at = now(), removed_by = 'retention' where lead is not null`;
  assert.ok((await lessons()).size > 0);
  await owner`
    insert into spam_label (event_id, tenant_id, is_spam, error, sender, features, labelled_at)
    select n::text, 0, true, 90, md5(n::text)::uuid, array[n % 500], now() + n * interval '1 second'
    from generate_series(1, 1200) as n`;
  await owner`update spam_lessons set is_stale = true`;
  const learned = await lessons();
  assert.equal(learned.size, 0, "only two senders used each of the hashes of the last 1,000 labels");
  assert.equal((await owner`select from spam_label`).length, 1_000);
});

test("form spam refuses a submission that is undelivered, unknown or already reported", async () => {
  const [delivered = ""] = await store("clean", [message(text(21))]);
  const [held = ""] = await store("spam", [message(text(22))]);
  await ctl(["form", "spam", delivered], on);
  for (const id of [delivered, held, delivered.replace(/^../, "00")]) {
    await assert.rejects(ctl(["form", "spam", id], on), /already|not delivered|no submission/);
  }
});
