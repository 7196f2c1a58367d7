/**
 * Each rule of the proof: what it finds in a history that breaks it, and nothing in one that does not.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { check, rules } from "../../scripts/prove/check.ts";
import type { Happened, History } from "../../scripts/prove/history.ts";
import { answer, asking, cleanHistory, type Draft, idAt, startMs } from "../support/prove/history.ts";

function brokenBy(change: (draft: Draft) => void): string[] {
  const draft = cleanHistory();
  change(draft);
  return [...new Set(check(draft as unknown as History).map(({ rule }) => rule))];
}

function happened(kind: string, fromMs: number, toMs: number, more: Partial<Happened> = {}): Happened {
  return { kind, node: null, fromMs, toMs, noCommit: null, ...more };
}

const first = <T>(all: readonly T[]): T => all[0] as T;

test("a history that keeps every promise breaks no rule", () => {
  assert.deepEqual(brokenBy(() => {}), []);
});

/** For each rule, changes that it has to find. */
const broken: Readonly<Record<string, readonly (readonly [string, (draft: Draft) => void])[]>> = {
  stored: [
    ["an event of a 202 is not stored", ({ tables }) => void tables.events.pop()],
    ["it is stored with another body", ({ tables }) => void (first(tables.events).raw += " ")],
    [
      "it is stored twice",
      ({ tables }) => void tables.events.push({ ...first(tables.events), eventId: idAt(startMs + 5) }),
    ],
    [
      "an event was posted by nobody",
      ({ tables }) =>
        void tables.events.push({
          ...first(tables.events),
          eventId: idAt(startMs + 5),
          idempotencyKey: "other",
        }),
    ],
    ["what was refused is stored", ({ asked }) => {
      for (const one of asked) if (one.what === "lead") one.answer = answer(401, { error: "unauthorized" });
    }],
  ],
  promise: [
    ["a 202 while no commit could be confirmed", (draft) =>
      void draft.happened.push(
        happened("standby_lost", startMs - 1_000, startMs + 500, {
          noCommit: { fromMs: startMs - 500, toMs: startMs + 400 },
        }),
      )],
  ],
  duplicates: [
    ["a 200 names an event that is not stored", ({ asked }) => {
      const one = asked[2] as Draft["asked"][number];
      one.answer = answer(200, { event_id: idAt(1), status: "duplicate", source: "kept" });
    }],
    ["a 200 names the event of another post", ({ asked }) => {
      const one = asked[2] as Draft["asked"][number];
      one.answer = answer(200, { event_id: idAt(startMs + 1_000), status: "duplicate", source: "kept" });
    }],
    ["a 200 names a lead of the same content from before yesterday", (draft) => {
      for (const one of draft.asked) one.idempotencyKey = null;
      for (const event of draft.tables.events) {
        event.idempotencyKey = null;
        event.receivedAtMs -= 25 * 3_600_000;
      }
    }],
  ],
  collisions: [
    [
      "another lead under a used key is kept nowhere",
      ({ asked }) => void asked.push(asking({ ...asked[2], content: "other", body: "{}" })),
    ],
  ],
  content: [
    ["a field is not normalized", ({ tables }) => {
      const event = first(tables.events);
      event.lead = event.lead.replace("+1", "");
    }],
  ],
  order: [
    ["what was answered first has the larger id", ({ asked, tables }) => {
      first(asked).answer = answer(202, {
        event_id: idAt(startMs + 9_000),
        status: "accepted",
        source: "kept",
      });
      first(tables.events).eventId = idAt(startMs + 9_000);
    }],
  ],
  delivered: [
    ["an event never arrives", ({ arrived }) => void arrived.pop()],
    ["an event arrives and is refused", ({ arrived }) => void (first(arrived).said = 500)],
    ["something waits for ever", (draft) => void (draft.undrained = "one")],
  ],
  payload: [
    [
      "other content arrives than is stored",
      ({ arrived }) => void (first(arrived).body = first(arrived).body.replace("Ada", "Eve")),
    ],
    ["it arrives at another tenant's", ({ arrived }) => void (first(arrived).tenant = "south")],
    [
      "what arrives is not stored",
      ({ arrived }) => void arrived.push({ ...first(arrived), eventId: idAt(3) }),
    ],
  ],
  repeats: [
    [
      "what was taken is sent again",
      ({ arrived }) =>
        void arrived.push({
          ...first(arrived),
          atMs: startMs + 500,
          body: first(arrived).body.replace('"attempt":1', '"attempt":2'),
        }),
    ],
  ],
  effects: [
    ["a CRM is called again", (draft) => {
      draft.hasActions = true;
      draft.happened.push(happened("kill", startMs, startMs + 100));
      for (const one of draft.arrived) one.at = "customer";
      draft.arrived.push({ ...first(draft.arrived), atMs: startMs + 500 });
    }],
  ],
  attempts: [
    ["an attempt is missing in the record", ({ tables }) => void (first(tables.attempts).number = 2)],
    [
      "a request is not on record",
      ({ arrived }) => void (first(arrived).body = first(arrived).body.replace('"attempt":1', '"attempt":4')),
    ],
    [
      "an event is dead too early",
      ({ replayed }) => void replayed.push({ eventId: idAt(startMs), spent: 2, reason: "500" }),
    ],
  ],
  sandbox: [
    ["a sandbox's lead reaches a CRM", (draft) => {
      draft.hasActions = true;
      first(draft.tables.events).tenant = "sandbox";
      first(draft.arrived).at = "customer";
    }],
    ["what is held arrives", ({ tables }) => void (first(tables.events).verdict = "honeypot")],
  ],
  revocation: [
    [
      "a post after the revocation is accepted",
      ({ revoked }) =>
        void revoked.push({
          keyId: 1,
          fromMs: startMs + 500,
          returnedAtMs: startMs + 600,
          databaseMs: Infinity,
        }),
    ],
    [
      "an event commits after the revocation",
      ({ revoked }) =>
        void revoked.push({
          keyId: 1,
          fromMs: startMs + 9_000,
          returnedAtMs: startMs + 9_600,
          databaseMs: 0,
        }),
    ],
    [
      "an active key gets 401",
      ({ asked }) =>
        void asked.push(asking({ what: "probe", answer: answer(401, { error: "unauthorized" }) })),
    ],
  ],
  answers: [
    ["500", ({ asked }) => void asked.push(asking({ what: "probe", answer: answer(500, {}) }))],
    [
      "a lead too large is judged",
      ({ asked }) =>
        void asked.push(
          asking({ what: "too_large", answer: answer(422, { error: "validation_failed", fields: {} }) }),
        ),
    ],
    [
      "422 does not name the fields",
      ({ asked }) =>
        void asked.push(
          asking({ what: "probe", answer: answer(422, { error: "validation_failed", fields: {} }) }),
        ),
    ],
  ],
  source: [
    ["another source", ({ asked }) => {
      const { event_id } = JSON.parse(first(asked).answer?.text ?? "{}");
      first(asked).answer = answer(202, { event_id, status: "accepted", source: "other" });
    }],
  ],
  accepting: [
    [
      "503 without a reason",
      ({ asked }) =>
        void asked.push(asking({ what: "probe", answer: answer(503, { error: "not_accepting" }) })),
    ],
    [
      "no answer without a reason",
      ({ asked }) => void asked.push(asking({ what: "probe", failure: "ECONNRESET" })),
    ],
  ],
  limits: [
    [
      "429 far below the limits",
      ({ asked }) =>
        void asked.push(asking({ what: "probe", answer: answer(429, { error: "rate_limited" }) })),
    ],
    ["more than the limit of an address passes", ({ asked }) => {
      const probe = asked[3] as Draft["asked"][number];
      for (let n = 0; n < 60; n += 1) asked.push({ ...probe, address: "127.200.0.3" });
    }],
    ["more than the limit of a key passes", ({ asked, keys }) => {
      const probe = asked[3] as Draft["asked"][number];
      keys.push({
        ...first(keys),
        id: 2,
        label: "tight",
        text: `lead_live_${"t".repeat(38)}`,
        limit: { perMinute: 600, burst: 101 },
      });
      for (let n = 0; n < 150; n += 1) asked.push({ ...probe, keyId: 2 });
    }],
  ],
  drain: [
    ["SIGTERM cuts a request", (draft) => {
      draft.ended.push({
        node: 0,
        signal: "SIGTERM",
        atMs: startMs + 4_500,
        endedAtMs: startMs + 4_600,
        code: 0,
      });
      draft.happened.push(happened("terminate", startMs + 4_500, startMs + 5_000, { node: 0 }));
      draft.asked.push(
        asking({
          what: "probe",
          sentAtMs: startMs + 3_400,
          doneAtMs: startMs + 4_550,
          failure: "ECONNRESET",
        }),
      );
    }],
    [
      "the process ends with 1 on SIGTERM",
      ({ ended }) =>
        void ended.push({ node: 0, signal: "SIGTERM", atMs: startMs, endedAtMs: startMs + 100, code: 1 }),
    ],
  ],
  crash: [
    [
      "a process ends by itself",
      ({ ended }) => void ended.push({ node: 0, signal: null, atMs: startMs, endedAtMs: startMs, code: 1 }),
    ],
    ["a process does not start", ({ unstarted }) => void unstarted.push("service 0")],
  ],
  counts: [
    ["the count of what waits is wrong", ({ tables }) => void (tables.tally = { pending: 1, dead: 0 })],
    ["a campaign's spend is wrong", ({ tables }) => void (tables.spendCents = { spring: 450 })],
    ["the report is wrong", ({ tables }) => void (tables.report = { accepted: 3, spendCents: 300 })],
    ["repeats are counted twice", ({ tables }) => void (tables.duplicates = { 1: 2 })],
  ],
  health: [
    ["the store is said to be writable while it is not", (draft) => {
      draft.happened.push(
        happened("read_only", startMs - 9_000, startMs + 3_000, {
          noCommit: { fromMs: startMs - 9_000, toMs: startMs + 3_000 },
        }),
      );
    }],
    ["the store is said to be unwritable while all is well", ({ looks }) => {
      const one = first(looks);
      one.status = 503;
      one.health = { ok: false, pending: 0, dead: 0, store_writable: false };
    }],
    ["the last figures are not those of the tables", ({ looks }) => {
      const last = looks[1] as Draft["looks"][number];
      last.health = { ok: true, pending: 3, dead: 0, store_writable: true };
    }],
  ],
  certificates: [
    ["the listener shows an old certificate", (draft) => {
      draft.swapped.push({ whose: "listener", atMs: startMs, serial: "02" });
      draft.shown.push({ node: 0, serial: "01" });
    }],
    [
      "deliveries come with an old certificate",
      (draft) => void draft.swapped.push({ whose: "delivery", atMs: startMs - 60_000, serial: "02" }),
    ],
  ],
  logs: [
    ["a key", (draft) => void draft.logs.push({ name: "x", text: first(draft.keys).text })],
    ["content of a lead", ({ logs }) => void logs.push({ name: "x", text: "refused Zqx" })],
  ],
};

test("every rule has a history that breaks it", () => {
  assert.deepEqual(Object.keys(broken).toSorted(), rules.map(({ name }) => name).toSorted());
});

for (const [rule, changes] of Object.entries(broken)) {
  for (const [what, change] of changes) {
    test(`the rule "${rule}" finds: ${what}`, () => {
      assert.ok(brokenBy(change).includes(rule), `found by ${brokenBy(change).join(", ") || "no rule"}`);
    });
  }
}

test("a lead that got no answer may be stored or not", () => {
  const silent = (draft: Draft) => {
    const one = first(draft.asked);
    one.answer = null;
    one.failure = "ECONNRESET";
    draft.happened.push(happened("kill", startMs, startMs + 500));
  };
  assert.deepEqual(brokenBy(silent), []);
  assert.deepEqual(
    brokenBy((draft) => {
      silent(draft);
      draft.asked.splice(2, 1);
      draft.arrived.shift();
      const gone = draft.tables.events.shift();
      draft.tables.attempts = draft.tables.attempts.filter(({ eventId }) => eventId !== gone?.eventId);
      draft.tables.spendCents = { spring: 150 };
      draft.tables.report = { accepted: 1, spendCents: 150 };
      draft.tables.duplicates = {};
    }),
    [],
  );
});

test("what a fault excuses breaks no rule", () => {
  assert.deepEqual(
    brokenBy((draft) => {
      draft.happened.push(happened("kill", startMs, startMs + 400, { node: 0 }));
      draft.asked.push(asking({ what: "probe", failure: "ECONNRESET" }));
      draft.asked.push(asking({ what: "probe", answer: answer(503, { error: "not_accepting" }) }));
      const again = { ...first(draft.arrived), atMs: startMs + 500 };
      draft.arrived.push({ ...again, body: again.body.replace('"attempt":1', '"attempt":2') });
      draft.tables.attempts.splice(1, 0, {
        ...first(draft.tables.attempts),
        number: 2,
        outcome: "lost",
        status: null,
      });
    }),
    [],
  );
});
