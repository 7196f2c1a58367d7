import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Outcome } from "../../../src/store/serving/accept.ts";
import { Committer, type CommitterOptions } from "../../../src/store/serving/committer.ts";
import { Unavailable } from "../../../src/store/pool.ts";

/** A commit that was begun: the test decides how it ends. */
interface Commit {
  readonly names: readonly string[];
  readonly deadlineMs: number;
  readonly succeed: () => void;
  /** As `succeed`, but for some, whose key is busy. */
  readonly holdBack: (names: readonly string[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Entries are told apart by their raw body. */
function entry(name: string, bytes = 0): Entry {
  return {
    ...{
      kind: "lead",
      keyId: 1,
      tenantId: 1,
      space: "k",
      digest: "00",
      contentDigest: "00",
      idempotencyKey: null,
    },
    ...{
      flags: [],
      lead: "",
      extra: null,
      raw: name.padEnd(bytes),
      costCents: null,
      unknownArea: null,
      arrivedAtMs: 0,
    },
    submission: null,
  };
}

const accepted = (name: string): Outcome => ({ kind: "accepted", eventId: name, receivedAt: "" });

/** A committer on a store that the test plays, with a clock that the test sets. */
function world(options: Partial<CommitterOptions> = {}) {
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
  /** The next commit that is begun. */
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

test("a batch has 512 entries at most", async () => {
  const { commit, next } = world();
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

test("a batch has 8 MiB at most, and one larger entry goes alone", async () => {
  const { commit, next } = world();
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

test("a full queue refuses: 4096 entries, or 64 MiB", async () => {
  const { commit, next, committer } = world();
  void commit("first");
  await next();
  names("n", 4096).forEach((name) => void commit(name));
  assert.equal(committer.waiting, 4096);
  const refused = await commit("one too many");
  assert.ok(refused instanceof Unavailable);

  const other = world();
  void other.commit("first");
  await other.next();
  names("n", 64).forEach((name) => void other.commit(name, 1024 * 1024));
  assert.ok(await other.commit("x", 1024 * 1024) instanceof Unavailable);
});

test("refuseWaiting fails what waits, not what is under way", async () => {
  const { commit, next, committer } = world();
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

test("an entry near its deadline is refused instead of begun, and its neighbours keep theirs", async () => {
  const { commit, next, clock } = world();
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

test("a commit's deadline is its oldest entry's", async () => {
  const { commit, next, clock } = world();
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

test("when the store goes away while a batch is halved, what is left is unknown, not refused", async () => {
  const { commit, next, refused } = world();
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

test("a commit that is asked for in the turn of the last answer is not forgotten", async () => {
  const { committer, next } = world();
  const again = committer.commit(entry("a")).then(() => committer.commit(entry("b")));
  (await next()).succeed();
  (await next()).succeed();
  assert.deepEqual(await again, accepted("b"));
  await committer.idle();
});

test("what belongs to a busy key is tried again, and keeps nobody else waiting", async () => {
  const told: string[][] = [];
  const { commit, next, committer } = world({
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

test("what belongs to a busy key is refused at its deadline, and at once when the store takes no writes", async () => {
  const { commit, next, clock, committer } = world();
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
