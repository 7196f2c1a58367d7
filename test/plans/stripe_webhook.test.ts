import { isSigned, readEvent } from "../../src/plans/stripe_webhook.ts";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

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

test("an invoice's subscription is read from parent or from the older member", () => {
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

test("other types are ignored, and anything but an event is malformed", () => {
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

const secret = "whsec_test";
const nowSeconds = 1_700_000_000;
const body = new TextEncoder().encode('{"id":"evt_1"}');
const sign = (by = secret, time: number | string = nowSeconds, bytes = body) =>
  createHmac("sha256", by).update(`${time}.`).update(bytes).digest("hex");
const check = (
  header: string | undefined,
  rule: { secrets?: string[]; nowSeconds?: number; body?: Uint8Array } = {},
) =>
  isSigned(rule.body ?? body, header, {
    secrets: rule.secrets ?? [secret],
    nowSeconds: rule.nowSeconds ?? nowSeconds,
  });

test("a valid v1 signature of the exact bytes is accepted, whatever else the header contains", () => {
  for (
    const header of [
      `t=${nowSeconds},v1=${sign()}`,
      `v1=${sign()},t=${nowSeconds}`,
      `t=${nowSeconds}, v1=${sign()}`,
      `t=${nowSeconds},v1=${sign("whsec_old")},v1=${sign()},v0=${"0".repeat(64)}`,
      `t=${nowSeconds},v1=${sign().toUpperCase()}`,
      `t=${nowSeconds},x,=,v1=,v1=${sign()}`,
    ]
  ) assert.ok(check(header), header);
});

test("a header without a time, with two times, without v1, or with an altered signature is rejected", () => {
  const right = sign();
  for (
    const header of [
      undefined,
      "",
      `v1=${right}`,
      `t=${nowSeconds}`,
      `t=,v1=${right}`,
      `t=${nowSeconds},t=${nowSeconds},v1=${right}`,
      `t=${nowSeconds},v0=${right}`,
      `t=${nowSeconds},v1=${right.slice(0, 63)}`,
      `t=${nowSeconds},v1=${right}00`,
      `t=${nowSeconds},v1=${right.slice(0, 62)}zz`,
      `t=-${nowSeconds},v1=${sign(secret, -nowSeconds)}`,
      `t=0x10,v1=${right}`,
      `t=${nowSeconds}.0,v1=${right}`,
      `t=${nowSeconds};v1=${right}`,
    ]
  ) assert.ok(!check(header), header);
});

test("a time up to 300 s away is accepted, 301 s is not", () => {
  for (const [offset, isRight] of [[-301, false], [-300, true], [300, true], [301, false]] as const) {
    const time = nowSeconds + offset;
    assert.equal(check(`t=${time},v1=${sign(secret, time)}`), isRight, String(offset));
  }
  assert.ok(!check(`t=${nowSeconds + 1},v1=${sign()}`), "the time is signed");
});
