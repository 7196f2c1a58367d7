import assert from "node:assert/strict";
import test from "node:test";
import {
  problemsOf,
  type ProcessFacts,
  type SeenTier,
  type StoreFacts,
} from "../../../src/ops/console/problems.ts";

const nowMs = Date.parse("2026-11-21T02:00:00Z");
const answering: SeenTier = {
  state: "closed",
  answeredAgoMs: 3_000,
  reachedAgoMs: 3_000,
  failure: null,
  awayMs: null,
};
const away: SeenTier = {
  state: "open",
  answeredAgoMs: 130_000,
  reachedAgoMs: 130_000,
  failure: { cause: "refused", code: "ECONNREFUSED", agoMs: 4_000 },
  awayMs: 125_000,
};
const well: ProcessFacts = { writable: true, pending: 0, dead: 0, tier: answering, isDraining: false };
const nothing = { count: 0, isMore: false };
const quiet: StoreFacts = { backlogs: [], oldest: null, held: nothing, collisions: [], sources: [] };
const told = (process: Partial<ProcessFacts>, store: Partial<StoreFacts> | null = {}) =>
  problemsOf({ ...well, ...process }, { store: store === null ? null : { ...quiet, ...store }, nowMs })
    .map(({ tone, text }) => `${tone}: ${text.text.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ")}`);
const oldest = (minutes: number) => ({
  eventId: "0660bd1782f0d200016cea739903366605de5c",
  tenant: "acme",
  receivedAt: new Date(nowMs - minutes * 60_000).toISOString(),
  reason: "crm_500",
});

test("nothing is wrong when nothing is, and held spam is no alarm", () => {
  assert.deepEqual(told({ pending: 40 }, { oldest: oldest(9), held: { count: 900, isMore: false } }), []);
});

test("what is bad comes first", () => {
  const found = told({ writable: false, isDraining: true, pending: 3, dead: 2 });
  assert.match(found[0] ?? "", /^bad: The store accepts no writes/);
  assert.match(found[1] ?? "", /^bad: 2 dead letters/);
  assert.match(found[2] ?? "", /^warn: This process is stopping/);
  assert.equal(found.length, 3);
});

test("a tier that is away is told with why, since when, its last answer and what waits, also while it is asked", () => {
  for (const state of ["open", "half_open"] as const) {
    assert.deepEqual(told({ tier: { ...away, state }, pending: 1_200 }), [
      "bad: The actions tier has not answered for 2 min: nothing listens at ACTIONS_URL (ECONNREFUSED); last answer 2 min ago. " +
      "1,200 events wait; nothing is lost, unsent events spend no attempts, and delivery resumes when the tier is back.",
    ]);
  }
  assert.match(
    told({ tier: { ...away, answeredAgoMs: null } })[0] ?? "",
    /no answer since this process started/,
  );
});

test("what waits long is told from ten minutes on, and is bad after an hour", () => {
  assert.match(
    told({}, { oldest: oldest(11) })[0] ?? "",
    /^warn: The oldest event has waited 11 min, of acme/,
  );
  assert.match(told({}, { oldest: oldest(90) })[0] ?? "", /^bad: /);
});

test("a live tenant without a route is told when something of it waits", () => {
  const activity = {
    tenant: "acme",
    sandbox: false,
    hasRoute: false,
    unrouted: 0,
    waiting: { count: 10_000, isMore: true },
    dueSince: null,
    dead: nothing,
  };
  assert.match(
    told({}, { backlogs: [activity] })[0] ?? "",
    /^warn: 1 tenant without a route has .*10,000\+/,
  );
  assert.deepEqual(told({}, { backlogs: [{ ...activity, waiting: nothing }] }), []);
  assert.deepEqual(told({}, { backlogs: [{ ...activity, sandbox: true }] }), []);
  assert.deepEqual(told({}, { backlogs: [{ ...activity, hasRoute: true }] }), []);
  assert.match(
    told({}, { backlogs: [{ ...activity, hasRoute: true, unrouted: 2 }] })[0] ?? "",
    /1 tenant has events without a matching route.*\(2\)/s,
  );
});

test("sources that have gone silent are told with how long, and the first of many by name", () => {
  const source = (name: string, silent: boolean) => ({
    tenant: "acme",
    source: name,
    kind: "lead" as const,
    last_accepted_at: new Date(nowMs - 72 * 3_600_000).toISOString(),
    silent_after_hours: 24,
    silent,
  });
  assert.deepEqual(told({}, { sources: [source("web", false)] }), []);
  assert.match(
    told({}, { sources: [source("web", false), source("phone", true)] })[0] ?? "",
    /^warn: 1 source has gone silent: acme phone \(3 days\)\./,
  );
  const many = ["a", "b", "c", "d", "e", "f", "g"].map((name) => source(name, true));
  assert.match(
    told({}, { sources: many })[0] ?? "",
    /^warn: 7 sources have gone silent: .*acme e .*, and 2 more\./,
  );
});

test("leads of other persons under a used Idempotency-Key are bad, by tenant and source, and lead to each", () => {
  const of = (source: string, count: number) => ({ tenant: "acme", source, count, newestId: "7" });
  assert.deepEqual(told({}, { collisions: [of("web", 1)] }), [
    "bad: 1 different lead arrived under a used Idempotency-Key, and was not delivered: acme web. " +
    "Accept each as a separate lead, or dismiss it, and tell the sender.",
  ]);
  const found = told({}, { collisions: ["a", "b", "c", "d", "e", "f"].map((source) => of(source, 2)) });
  assert.match(found[0] ?? "", /^bad: 12 different leads arrived .*: acme a \(2\), .*, and 1 more\. /);
});
