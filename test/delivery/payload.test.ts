import assert from "node:assert/strict";
import test from "node:test";
import { payload } from "../../src/delivery/payload.ts";
import type { Claimed } from "../../src/store/delivery/outbox.ts";

const row: Claimed = {
  event_id: "0660bd1782f0d200016cea739903366605de5c",
  tenant_id: 1,
  lease: "00000000-0000-0000-0000-000000000000",
  due_at_ms: 0,
  number: 3,
  spent: 2,
  is_replay: false,
  is_repeat: false,
  kind: "lead",
  tenant: "acme",
  source: 'web "north"',
  received_at: "2026-11-20T22:51:59.806Z",
  flags: "phone_unnormalized,extra_fields_preserved",
  lead: '{"first_name":"Ada","cost_cents":101}',
  extra: '{"big":12345678901234567890,"price":1.10,"nul":"\\u0000"}',
};

test("The request says what was accepted, who it is for and which attempt it is", () => {
  const { extra: _, ...rest } = JSON.parse(payload(row));
  assert.deepEqual(rest, {
    event_id: row.event_id,
    kind: "lead",
    tenant: "acme",
    source: 'web "north"',
    received_at: row.received_at,
    attempt: 3,
    lead: { first_name: "Ada", cost_cents: 101 },
    flags: ["phone_unnormalized", "extra_fields_preserved"],
  });
});

test("extra goes out as it is stored, digit by digit", () => {
  assert.ok(payload(row).includes(`"extra":${row.extra}`));
});

test("Without extra and flags the members are an empty object and an empty array", () => {
  const body = JSON.parse(payload({ ...row, extra: null, flags: "" }));
  assert.deepEqual(body.extra, {});
  assert.deepEqual(body.flags, []);
});

test("A submission stands in place of the lead", () => {
  const body = JSON.parse(payload({ ...row, kind: "form", lead: '{"message":"hi"}' }));
  assert.equal(body.kind, "form");
  assert.deepEqual(body.submission, { message: "hi" });
  assert.equal("lead" in body, false);
});
