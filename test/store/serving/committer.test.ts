import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../../src/store/serving/accept.ts";
import { Committer, type CommitterOptions } from "../../../src/store/serving/committer.ts";
import { Unavailable } from "../../../src/store/pool.ts";
import { acceptEntry } from "../../support/accept.ts";

/** A commit whose outcome the test decides. */
interface Commit {
  readonly names: readonly string[];
  readonly deadlineMs: number;
  readonly succeed: () => void;
  /** Like `succeed`, except for these names, whose key is locked. */
  readonly holdBack: (names: readonly string[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Entries are identified by their raw body. */
const entry = (name: string, bytes = 0) => acceptEntry({ lead: "", raw: name.padEnd(bytes), arrivedAtMs: 0 });

const accepted = (name: string): Outcome => ({ kind: "accepted", eventId: name, receivedAt: "" });

/** Returns a committer with a simulated store and clock. */
function testEnv(options: Partial<CommitterOptions> = {}) {
  const commits: Commit[] = [];
  const refused: unknown[] = [];
  const clock = { nowMs: 0, writable: true };
  let wake: () => void = () => {};
  const committer = new Committer({
    accept: (entries, deadlineMs) =>
      new Promise((resolve, reject) => {
        const names = entries.map(({ raw }) => raw.trimEnd());
        commits.push({
          names,
          deadlineMs,
          succeed: () => resolve(names.map(accepted)),
          holdBack: (held) =>
            resolve(names.map((name) => held.includes(name) ? { kind: "busy" } : accepted(name))),
          fail: reject,
        });
        wake();
      }),
    writable: () => clock.writable,
    nowMs: () => clock.nowMs,
    deadlineMs: 10_000,
    observe: (observation) => {
      if (observation.kind === "entry_refused") refused.push(observation.error);
    },
    listener: { onCommitted: () => {}, onFailed: () => {} },
    ...options,
  });
  /** Waits for the next commit. */
  const next = async (): Promise<Commit> => {
    while (commits.length === 0) await new Promise<void>((resolve) => wake = resolve);
    return commits.shift() as Commit;
  };
  const commit = (name: string, bytes = 0) =>
    committer.commit(entry(name, bytes)).then(
      (outcome) => outcome.kind === "revoked" ? "revoked" : outcome.eventId,
      (error: unknown) => error as Error,
    );
  return { committer, commits, refused, clock, next, commit };
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test("a batch has at most 512 entries", async () => {
  const { commit, next } = testEnv();
  void commit("first");
  const begun = await next();
  const answers = names("n", 600).map((name) => commit(name));
  begun.succeed();
  const second = await next();
  assert.equal(second.names.length, 512);
  second.succeed();
  const third = await next();
  assert.equal(third.names.length, 88);
  third.succeed();
  assert.equal((await Promise.all(answers)).length, 600);
});

test("a batch has at most 8 MiB, and a larger entry is committed alone", async () => {
  const { commit, next } = testEnv();
  void commit("first");
  const begun = await next();
  const sizes = [5, 2, 2, 9, 1].map((mebibytes, n) => commit(`m${n}`, mebibytes * 1024 * 1024));
  begun.succeed();
  for (const expected of [["m0", "m1"], ["m2"], ["m3"], ["m4"]]) {
    const commitOf = await next();
    assert.deepEqual(commitOf.names, expected);
    commitOf.succeed();
  }
  await Promise.all(sizes);
});

test("a full queue refuses entries above 4,096 or 64 MiB", async () => {
  const { commit, next, committer } = testEnv();
  void commit("first");
  await next();
  names("n", 4096).forEach((name) => void commit(name));
  assert.equal(committer.waiting, 4096);
  const refused = await commit("one too many");
  assert.ok(refused instanceof Unavailable);

  const other = testEnv();
  void other.commit("first");
  await other.next();
  names("n", 64).forEach((name) => void other.commit(name, 1024 * 1024));
  assert.ok(await other.commit("x", 1024 * 1024) instanceof Unavailable);
});

test("refuseWaiting fails queued entries but not the batch in flight", async () => {
  const { commit, next, committer } = testEnv();
  const first = commit("a");
  const begun = await next();
  const waiting = commit("b");
  committer.refuseWaiting();
  assert.ok(await waiting instanceof Unavailable);
  assert.equal(committer.waiting, 0);
  begun.succeed();
  assert.equal(await first, "a");
  const after = commit("c");
  (await next()).succeed();
  assert.equal(await after, "c", "it goes on");
});

test("an entry near its deadline is refused, and its neighbours keep their deadlines", async () => {
  const { commit, next, clock } = testEnv();
  const first = commit("a");
  const begun = await next();
  const old = commit("b");
  clock.nowMs = 9_500;
  const young = commit("c");
  begun.succeed();
  assert.equal(await first, "a");
  assert.ok(await old instanceof Unavailable);
  const second = await next();
  assert.deepEqual(second.names, ["c"]);
  assert.equal(second.deadlineMs, 10_000);
  second.succeed();
  assert.equal(await young, "c");
});

test("a commit's deadline is that of its oldest entry", async () => {
  const { commit, next, clock } = testEnv();
  void commit("a");
  const begun = await next();
  assert.equal(begun.deadlineMs, 10_000);
  clock.nowMs = 1_000;
  void commit("b");
  clock.nowMs = 4_000;
  void commit("c");
  begun.succeed();
  assert.equal((await next()).deadlineMs, 7_000);
});

test("when the store becomes unavailable while a batch is halved, the rest is unknown, not refused", async () => {
  const { commit, next, refused } = testEnv();
  void commit("first");
  const begun = await next();
  const answers = names("n", 4).map((name) => commit(name));
  begun.succeed();
  (await next()).fail(new Error("no"));
  (await next()).succeed();
  (await next()).fail(new Unavailable("lost"));
  const [a, b, c, d] = await Promise.all(answers);
  assert.deepEqual([a, b], ["n0", "n1"]);
  assert.ok(c instanceof Unavailable && d instanceof Unavailable);
  assert.deepEqual(refused, []);
});

test("an entry added in the turn of the last result is committed", async () => {
  const { committer, next } = testEnv();
  const again = committer.commit(entry("a")).then(() => committer.commit(entry("b")));
  (await next()).succeed();
  (await next()).succeed();
  assert.deepEqual(await again, accepted("b"));
  await committer.idle();
});

test("entries of a locked key are retried and delay no others", async () => {
  const told: string[][] = [];
  const { commit, next, committer } = testEnv({
    listener: {
      onCommitted: (entries, decisions) =>
        told.push(entries.map(({ raw }) => raw).filter((_, nth) => decisions[nth]?.kind !== "busy")),
      onFailed: () => {},
    },
  });
  const first = commit("first");
  const begun = await next();
  const [busy, other] = [commit("busy"), commit("other")];
  begun.succeed();
  await first;
  (await next()).holdBack(["busy"]);
  assert.equal(await other, "other");
  assert.equal(committer.waiting, 1);
  const idle = committer.idle();
  (await next()).holdBack(["busy"]);
  const again = await next();
  assert.deepEqual(again.names, ["busy"]);
  again.succeed();
  assert.equal(await busy, "busy");
  await idle;
  assert.deepEqual(told, [["first"], ["other"], ["busy"]]);
});

test("entries of a locked key are refused at their deadline, or at once when the store is unwritable", async () => {
  const { commit, next, clock, committer } = testEnv();
  const late = commit("late");
  clock.nowMs = 9_001;
  (await next()).holdBack(["late"]);
  assert.ok(await late instanceof Unavailable);
  const waiting = commit("waiting");
  (await next()).holdBack(["waiting"]);
  await Promise.resolve();
  committer.refuseWaiting();
  assert.ok(await waiting instanceof Unavailable);
  await committer.idle();
});
