import assert from "node:assert/strict";
import { test } from "node:test";
import { readEvent } from "../../src/plans/stripe_event.ts";

const id = "0b5c2f5e-7c0e-4f7a-9d63-1f4f0d1c2b3a";

function read(type: string, object: unknown, members: object = {}) {
  return readEvent(
    JSON.stringify({
      id: "evt_1",
      object: "event",
      type,
      created: 1_700_000_000,
      data: { object },
      ...members,
    }),
  );
}

function finding(type: string, object: unknown) {
  const event = read(type, object);
  if (event.kind !== "change") return event.kind;
  const { eventId, type: readType, createdAt, ...rest } = event.change;
  assert.deepEqual([eventId, readType, createdAt], ["evt_1", type, "2023-11-14T22:13:20.000Z"]);
  return rest;
}

test("an invoice has its subscription under parent, or where older versions have it", () => {
  const details = { subscription: "sub_1", metadata: { checkout: id } };
  const found = { id, sessionId: null, subscriptionId: "sub_1", customerId: "cus_1" };
  const now = {
    id: "in_1",
    customer: "cus_1",
    parent: { subscription_details: details },
    billing_reason: "subscription_cycle",
  };
  const old = {
    id: "in_1",
    customer: "cus_1",
    subscription: "sub_1",
    subscription_details: { metadata: { checkout: id } },
  };
  for (const invoice of [now, old]) {
    assert.deepEqual(finding("invoice.paid", invoice), { ...found, state: "active" });
    assert.deepEqual(finding("invoice.payment_failed", invoice), { ...found, state: "past_due" });
  }
  const first = { ...now, billing_reason: "subscription_create" };
  assert.deepEqual(finding("invoice.payment_failed", first), { ...found, state: "incomplete" });
  assert.equal(finding("invoice.paid", { id: "in_1", parent: null }), "ignored");
});

test("other types are ignored, what is no event is malformed", () => {
  assert.deepEqual(read("customer.created", {}), { kind: "ignored" });
  assert.deepEqual(read("__proto__", {}), { kind: "ignored" });
  assert.deepEqual(read("toString", {}), { kind: "ignored" });
  assert.deepEqual(read("x", {}, { object: "v2.core.event" }), { kind: "ignored" });
  for (
    const members of [
      { id: 1 },
      { id: "" },
      { id: "evt_\0" },
      { id: "e".repeat(256) },
      { type: null },
      { created: "now" },
      { created: -1 },
      { data: null },
      {
        data: { object: [] },
      },
    ]
  ) {
    assert.deepEqual(read("invoice.paid", {}, members), { kind: "malformed" });
  }
  for (const text of ["", "[]", "null", "{", "[".repeat(100_000)]) {
    assert.deepEqual(readEvent(text), { kind: "malformed" });
  }
});
