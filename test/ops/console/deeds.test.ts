import assert from "node:assert/strict";
import { test } from "node:test";
import { deedOf } from "../../../src/ops/console/audit.ts";
import { plain } from "../../support/console/plain.ts";

const entry = (action: string, subject: string, detail: unknown = null, count = 1) => ({
  id: "1",
  at: "2026-11-21T02:00:00Z",
  actor: "ctl olga",
  claimed: null,
  action,
  subjects: [subject],
  count,
  detail: detail === null ? null : JSON.stringify(detail),
});
const told = (...of: Parameters<typeof entry>) => plain(deedOf(entry(...of)));
const id = "0660bd1782f0d200016cea739903366605de5c";

test("what an operator did is a sentence", () => {
  assert.equal(
    told("tenant.route", "acme", { crm: "changed", email: "none", new_secret: true }),
    "Changed the route of tenant acme: gave it a new CRM address and made a new secret",
  );
  assert.equal(
    told("tenant.route", "acme", { crm: "kept", slack: "cleared", new_secret: false }),
    "Changed the route of tenant acme: kept its CRM address and took away its Slack address",
  );
  assert.equal(
    told("tenant.route_test", "acme", { sent: 2, failed: 1, form: "contact" }),
    "Tried the route of tenant acme: 2 sent, 1 failed (form contact)",
  );
  assert.equal(told("event.send_again", id, { effect: "crm" }), `Sent ${id} again (effect crm)`);
  assert.equal(
    told("tenant.retention", "acme", { days: 90 }),
    "Set that content of tenant acme is kept for 90 days",
  );
  assert.equal(
    told("key.issue", "7", { tenant: "acme", surface: "intake", label: "web" }),
    "Issued key 7 (web, intake) of tenant acme",
  );
  assert.equal(
    told("area.retire", "parlour", { before: "confirmed" }),
    "Retired the term parlour (it was confirmed)",
  );
  assert.equal(
    told("plan.put", "basic", { change: "changed", amount_cents: 4900 }),
    "Changed plan basic, $49.00",
  );
  assert.equal(told("person.erase", "12", { events: 12, attempts: 0 }), "Erased a person: 12 events");
  assert.equal(told("dead.replay", id), `Replayed dead letter ${id}`);
  assert.equal(told("dead.replay", id, null, 1_000), `Replayed 1,000 dead letters: ${id} and 999 more`);
});

test("an action that is not known is told by its own words, and nothing of it is left out", () => {
  assert.equal(
    told("moon.paint_green", "x", { how_often: 2, by_hand: true, layers: [1, "<b>"], who: null, made: {} }),
    "moon: paint green x (how often 2, by hand yes, layers 1, <b>, who none, made nothing)",
  );
  assert.equal(told("moon.paint", "<script>"), "moon: paint <script>");
  assert.doesNotMatch(deedOf(entry("moon.paint", "<script>", { "<i>": "<b>" })).text, /<(script|i|b)>/);
});

test("an event is a link, and what only looks like one is none", () => {
  const link = (action: string, subject: string) =>
    /href="([^"]+)"/.exec(deedOf(entry(action, subject)).text)?.[1];
  assert.equal(link("dead.replay", id), `/leads/${id}`);
  assert.equal(link("person.erase_begin", id), `/leads/${id}`);
  assert.equal(link("person.erase_begin", "a person"), undefined);
  assert.equal(link("tenant.add", id), undefined);
});
