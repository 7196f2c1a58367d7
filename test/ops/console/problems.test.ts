import assert from "node:assert/strict";
import test from "node:test";
import type { SuspendedRoute } from "../../../src/store/operator/route_states.ts";
import { failureCauses } from "../../../src/delivery/send.ts";
import {
  failureText,
  findProblems,
  type ProcessFacts,
  type StoreFacts,
  type TierStatus,
  tierTile,
  type TierView,
} from "../../../src/ops/console/problems.ts";

const nowMs = Date.parse("2026-11-21T02:00:00Z");
const answering: TierStatus = {
  state: "closed",
  respondedAgoMs: 3_000,
  reachedAgoMs: 3_000,
  failure: null,
  unavailableMs: null,
};
const unavailable: TierStatus = {
  state: "open",
  respondedAgoMs: 130_000,
  reachedAgoMs: 130_000,
  failure: { cause: "refused", code: "ECONNREFUSED", agoMs: 4_000 },
  unavailableMs: 125_000,
};
const well: ProcessFacts = { writable: true, pending: 0, dead: 0, tier: answering, isDraining: false };
const nothing = { count: 0, isMore: false };
const quiet: StoreFacts = {
  backlogs: [],
  oldest: null,
  suspended: [],
  held: { toReview: nothing, honeypotHits: nothing },
  pauses: [],
  collisions: [],
  sources: [],
};
const problemsOf = (process: Partial<ProcessFacts>, store: Partial<StoreFacts> | null = {}) =>
  findProblems({ ...well, ...process }, { store: store === null ? null : { ...quiet, ...store }, nowMs })
    .map(({ tone, text }) => `${tone}: ${text.text.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ")}`);
const oldest = (minutes: number) => ({
  eventId: "0660bd1782f0d200016cea739903366605de5c",
  tenant: "acme",
  receivedAt: new Date(nowMs - minutes * 60_000).toISOString(),
  reason: "crm_500",
});

test("no problem is reported while all is healthy, and held spam is none", () => {
  assert.deepEqual(
    problemsOf({ pending: 40 }, {
      oldest: oldest(9),
      held: { ...quiet.held, toReview: { count: 900, isMore: false } },
    }),
    [],
  );
});

test("the most severe problem comes first", () => {
  const found = problemsOf({ writable: false, isDraining: true, pending: 3, dead: 2 });
  assert.match(found[0] ?? "", /^bad: The store accepts no writes/);
  assert.match(found[1] ?? "", /^bad: 2 dead letters/);
  assert.match(found[2] ?? "", /^warn: This process is stopping/);
  assert.equal(found.length, 3);
});

test("reports an unreachable tier with its cause, since when, its last response and the waiting rows, during a probe too", () => {
  for (const state of ["open", "half_open"] as const) {
    assert.deepEqual(problemsOf({ tier: { ...unavailable, state }, pending: 1_200 }), [
      "bad: The actions tier has not responded for 2 min: nothing listens at ACTIONS_URL (ECONNREFUSED); last response 2 min ago. " +
      "1,200 events are waiting. Nothing is lost: unsent events spend no attempts, and delivery resumes when the tier is back.",
    ]);
  }
  assert.match(
    problemsOf({ tier: { ...unavailable, respondedAgoMs: null } })[0] ?? "",
    /no response since this process started/,
  );
});

test("reports rows that have waited ten minutes, as severe after an hour", () => {
  assert.match(
    problemsOf({}, { oldest: oldest(11) })[0] ?? "",
    /^warn: The oldest event has waited 11 min, for acme/,
  );
  assert.match(problemsOf({}, { oldest: oldest(90) })[0] ?? "", /^bad: /);
});

test("reports a live tenant without a route once rows wait for it", () => {
  const activity = {
    tenant: "acme",
    sandbox: false,
    hasRoute: false,
    isPaused: false,
    unrouted: 0,
    waiting: { count: 10_000, isMore: true },
    dueSince: null,
    dead: nothing,
  };
  assert.match(
    problemsOf({}, { backlogs: [activity] })[0] ?? "",
    /^warn: 1 tenant without a route has .*10,000\+/,
  );
  assert.deepEqual(problemsOf({}, { backlogs: [{ ...activity, waiting: nothing }] }), []);
  assert.deepEqual(problemsOf({}, { backlogs: [{ ...activity, sandbox: true }] }), []);
  assert.deepEqual(problemsOf({}, { backlogs: [{ ...activity, hasRoute: true }] }), []);
  assert.deepEqual(problemsOf({}, { backlogs: [{ ...activity, isPaused: true }] }), []);
  assert.match(
    problemsOf({}, { backlogs: [{ ...activity, hasRoute: true, unrouted: 2 }] })[0] ?? "",
    /1 tenant has events without a matching route.*\(2\)/s,
  );
});

test("reports silent sources with how long, naming the first", () => {
  const source = (name: string, silent: boolean) => ({
    tenant: "acme",
    source: name,
    kind: "lead" as const,
    last_accepted_at: new Date(nowMs - 72 * 3_600_000).toISOString(),
    silent_after_hours: 24,
    silent,
  });
  assert.deepEqual(problemsOf({}, { sources: [source("web", false)] }), []);
  assert.match(
    problemsOf({}, { sources: [source("web", false), source("phone", true)] })[0] ?? "",
    /^warn: 1 source has gone silent: acme phone \(3 days\)\./,
  );
  const many = ["a", "b", "c", "d", "e", "f", "g"].map((name) => source(name, true));
  assert.match(
    problemsOf({}, { sources: many })[0] ?? "",
    /^warn: 7 sources have gone silent: .*acme e .*, and 2 more\./,
  );
});

test("reports collisions of other people as severe, by tenant and source, with a link to each", () => {
  const of = (source: string, count: number) => ({ tenant: "acme", source, count, newestId: "7" });
  assert.deepEqual(problemsOf({}, { collisions: [of("web", 1)] }), [
    "bad: 1 different lead was posted with a used Idempotency-Key and not delivered: acme web. " +
    "Accept each as a separate lead, or dismiss it, and tell the sender.",
  ]);
  const found = problemsOf({}, { collisions: ["a", "b", "c", "d", "e", "f"].map((source) => of(source, 2)) });
  assert.match(found[0] ?? "", /^bad: 12 different leads were posted .*: acme a \(2\), .*, and 1 more\. /);
});

test("reports suspended CRM routes as severe, each with the CRM's words, and names the tenants of the rest", () => {
  const route = (tenant: string, source = ""): SuspendedRoute => ({
    tenant,
    source,
    kind: "crm",
    form: "",
    target: "pipedrive",
    recipeVersion: null,
    changedAt: "",
    doneAt: null,
    suspension: {
      reason: "crm_unauthorized",
      since: "2026-11-20T23:00:00Z",
      secretNames: ["token"],
      waiting: { count: 12, isMore: false },
    },
    last: {
      eventId: "0660bd17",
      state: "waiting",
      status: 401,
      answer: '{"error":"<expired>"}',
      reason: null,
      settledAt: "2026-11-21T01:59:00Z",
    },
  });
  assert.deepEqual(problemsOf({}, { suspended: [route("acme", "web")] }), [
    "bad: The CRM of acme refuses the credentials (pipedrive, source web). First refused 3 h ago; 12 leads wait. " +
    "Its response to the last try: 401 {&quot;error&quot;:&quot;&lt;expired&gt;&quot;}. See what to do.",
  ]);
  const many = Array.from({ length: 12 }, (_, index) => route(`tenant-${index % 11}`));
  const found = problemsOf({}, { suspended: many });
  assert.equal(found.length, 6);
  assert.equal(
    found[5],
    "bad: Leads wait for 7 more CRM routes: tenant-5, tenant-6, tenant-7, tenant-8, tenant-9, and 2 more.",
  );
});

const unheard = { respondedAgoMs: null, reachedAgoMs: null };
const tile = (tier: TierView) => {
  const { name, tone, small } = tierTile(tier);
  return `${tone}: ${name}: ${small.text.replaceAll(/<[^>]*>/g, "").replaceAll("&#39;", "'")}`;
};

test("the tile shows the age of the last response and words for the last failure", () => {
  assert.equal(tile(answering), "null: responds: last response 3 s ago");
  const failure = { cause: "closed", code: "ECONNRESET", agoMs: 7_200_000 };
  assert.equal(
    tile({ ...answering, failure }),
    "null: responds: last response 3 s ago; last failure 2 h ago: it closed the connection without a response (ECONNRESET)",
  );
  assert.equal(
    tile({ state: "open", ...unheard, failure: { ...failure, cause: "refused" }, unavailableMs: 40_000 }),
    "bad: does not respond: for 40 s: nothing listens at ACTIONS_URL (ECONNRESET); no response since this process started",
  );
});

test("every cause has its own words, and a certificate fault has more", () => {
  const words = failureCauses.map((cause) => failureText({ cause, code: "E" }).text);
  assert.equal(new Set(words).size, failureCauses.length);
  assert.ok(words.every((text) => !text.includes("it does not respond (")));
  const expired = failureText({ cause: "handshake", code: "CERT_HAS_EXPIRED" }).text;
  assert.equal(expired, "its certificate has expired (<code>CERT_HAS_EXPIRED</code>)");
});
