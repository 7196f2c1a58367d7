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

const session = {
  id: "cs_1",
  mode: "subscription",
  client_reference_id: id,
  payment_status: "paid",
  subscription: "sub_1",
  customer: "cus_1",
};
const ofSession = { id, sessionId: "cs_1", subscriptionId: "sub_1", customerId: "cus_1" };

test("a session that is completed is active when it is paid or free, incomplete while the money is on its way", () => {
  for (
    const [payment_status, state] of [["paid", "active"], ["no_payment_required", "active"], [
      "unpaid",
      "incomplete",
    ]]
  ) {
    assert.deepEqual(finding("checkout.session.completed", { ...session, payment_status }), {
      ...ofSession,
      state,
    });
  }
  assert.deepEqual(finding("checkout.session.async_payment_succeeded", session), {
    ...ofSession,
    state: "active",
  });
  assert.deepEqual(finding("checkout.session.async_payment_failed", session), {
    ...ofSession,
    state: "failed",
  });
  assert.deepEqual(finding("checkout.session.expired", { ...session, subscription: null, customer: null }), {
    ...ofSession,
    subscriptionId: null,
    customerId: null,
    state: "expired",
  });
});

test("sessions of another mode are ignored, and a reference that is not ours does not count", () => {
  assert.equal(finding("checkout.session.completed", { ...session, mode: "payment" }), "ignored");
  const other = finding("checkout.session.completed", { ...session, client_reference_id: "order 1" });
  assert.ok(typeof other === "object" && other.id === null);
});

test("a subscription's own events say its status; deleted is canceled, a status of later days is ignored", () => {
  const subscription = {
    id: "sub_1",
    customer: { id: "cus_1", object: "customer" },
    metadata: { checkout: id },
    status: "past_due",
  };
  const found = { id, sessionId: null, subscriptionId: "sub_1", customerId: "cus_1" };
  for (const type of ["created", "updated", "paused", "resumed"]) {
    assert.deepEqual(finding(`customer.subscription.${type}`, subscription), { ...found, state: "past_due" });
  }
  assert.deepEqual(finding("customer.subscription.deleted", subscription), { ...found, state: "canceled" });
  assert.equal(finding("customer.subscription.updated", { ...subscription, status: "dormant" }), "ignored");
  assert.equal(finding("customer.subscription.updated", { ...subscription, id: 7 }), "ignored");
});

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
