/**
 * A small history that keeps every promise, for the tests of the rules: each changes one thing of it.
 *
 * @module
 */

import type { Answer, Arrived, Asked, History, Look, StoredEvent } from "../../../scripts/prove/history.ts";

type Changeable<T> = {
  -readonly [Name in keyof T]: T[Name] extends readonly (infer Item)[] ? Changeable<Item>[]
    : T[Name];
};
/** A history to be changed. */
export type Draft = Changeable<Omit<History, "tables">> & { tables: Changeable<History["tables"]> };

/** When its first request was sent. */
export const startMs = 100_000;
const databaseMs = (atMs: number) => Math.floor(performance.timeOrigin + atMs);
/** The id of the event that is accepted at a time. */
export const idAt = (atMs: number) => `${10 ** 13 + atMs}a`;

/** An answer with a JSON body. */
export function answer(status: number, body: object): Answer {
  return { status, headers: { "x-request-id": "r" }, text: JSON.stringify(body) };
}

/** A request of the first caller with the kept key of `north`. */
export function asking(more: Partial<Asked>): Changeable<Asked> {
  return {
    ...{
      what: "lead",
      caller: 0,
      node: 0,
      tenant: "north",
      keyId: 1,
      address: "127.0.0.2",
      idempotencyKey: null,
    },
    ...{
      content: "",
      body: "",
      expected: {},
      sentAtMs: startMs,
      doneAtMs: startMs + 10,
      answer: null,
      failure: null,
    },
    ...more,
  } as Changeable<Asked>;
}

/** A lead that was accepted at a time, its event, and its delivery. */
function lead(name: string, atMs: number): { asked: Asked; event: StoredEvent; arrived: Arrived } {
  const body = JSON.stringify({ first_name: name, last_name: "Zqx", phone: "2125550123", cost: 1.5 });
  const stored = {
    first_name: name,
    last_name: "Zqx",
    phone: "+12125550123",
    country: "US",
    cost_cents: 150,
  };
  const eventId = idAt(atMs);
  const receivedAtMs = databaseMs(atMs + 5);
  return {
    asked: asking({
      ...{ idempotencyKey: `lot-${name}`, content: name, body, sentAtMs: atMs, doneAtMs: atMs + 10 },
      expected: { first_name: name, phone: "+12125550123", cost_cents: 150 },
      answer: answer(202, {
        event_id: eventId,
        status: "accepted",
        received_at: "",
        source: "kept",
        flags: [],
      }),
    }),
    event: {
      ...{
        eventId,
        kind: "lead",
        tenant: "north",
        keyId: 1,
        receivedAtMs,
        idempotencyKey: `lot-${name}`,
        flags: [],
      },
      ...{ lead: JSON.stringify(stored), extra: null, raw: body, verdict: null },
    },
    arrived: {
      ...{
        at: "tier",
        eventId,
        tenant: "north",
        atMs: atMs + 30,
        certificate: "01",
        said: 200,
        saidAtMs: atMs + 31,
      },
      body: JSON.stringify({
        ...{ event_id: eventId, kind: "lead", tenant: "north", source: "kept" },
        ...{
          received_at: new Date(receivedAtMs).toISOString(),
          attempt: 1,
          lead: stored,
          extra: {},
          flags: [],
        },
      }),
    },
  };
}

function look(node: number, sentAtMs: number): Look {
  const health = { ok: true, pending: 0, dead: 0, store_writable: true };
  return { node, sentAtMs, doneAtMs: sentAtMs + 5, status: 200, health };
}

/** Two leads, a repeat, a check of the key; accepted, delivered, counted. */
export function cleanHistory(): Draft {
  const [one, two] = [lead("Ada", startMs), lead("Zoe", startMs + 1_000)];
  const repeat = asking({
    ...one.asked,
    ...{ sentAtMs: startMs + 2_000, doneAtMs: startMs + 2_010 },
    answer: answer(200, {
      event_id: one.event.eventId,
      status: "duplicate",
      received_at: "",
      source: "kept",
      flags: [],
    }),
  });
  const required = { first_name: "required", last_name: "required", phone: "required" };
  const probe = asking({
    ...{ what: "probe", body: "{}", sentAtMs: startMs + 3_000, doneAtMs: startMs + 3_005 },
    answer: answer(422, { error: "validation_failed", request_id: "r", fields: required }),
  });
  const events = [one.event, two.event];
  return structuredClone({
    ...{
      nodes: 1,
      hasActions: false,
      attemptsMax: 8,
      sendTimeoutMs: 2_500,
      calmAtMs: startMs + 5_000,
      undrained: null,
    },
    tenants: [{ id: 1, slug: "north", sandbox: false }, { id: 2, slug: "sandbox", sandbox: true }],
    keys: [{
      ...{ id: 1, tenant: "north", text: `lead_live_${"k".repeat(38)}`, surface: "intake", label: "kept" },
      ...{ campaign: "spring", limit: null },
    }],
    asked: [one.asked, two.asked, repeat, probe],
    arrived: [one.arrived, two.arrived],
    looks: [look(0, startMs + 1_000), look(0, startMs + 6_000)],
    ...{
      happened: [],
      ended: [],
      revoked: [],
      clockSteps: [],
      swapped: [],
      shown: [],
      replayed: [],
      unstarted: [],
    },
    lives: [{ node: 0, atMs: startMs - 1_000 }],
    tables: {
      events,
      attempts: events.map(({ eventId }) => ({
        eventId,
        number: 1,
        outcome: "delivered",
        status: 200,
        durationMs: 5,
        spent: true,
      })),
      ...{
        outbox: [],
        dead: [],
        tally: { pending: 0, dead: 0 },
        spendCents: { spring: 300 },
        collisions: [],
      },
      ...{ duplicates: { 1: 1 }, refusals: {}, report: { accepted: 2, spendCents: 300 } },
    },
    logs: [{ name: "service 0", text: '{"event":"started"}\n' }],
  }) as unknown as Draft;
}
