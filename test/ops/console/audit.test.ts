import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAction } from "../../../src/ops/console/audit.ts";
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
const describe = (...of: Parameters<typeof entry>) => plain(describeAction(entry(...of)));
const id = "0660bd1782f0d200016cea739903366605de5c";

test("an audit row shows the verb, the subject and the details", () => {
  assert.equal(
    describe("tenant.route", "acme", { crm: "changed", new_secret: true }),
    "Changed the route of tenant acme (crm changed, new secret yes)",
  );
  assert.equal(
    describe("key.issue", "7", { tenant: "acme", surface: "intake", label: "web" }),
    "Issued key 7 (tenant acme, surface intake, label web)",
  );
  assert.equal(describe("dead.replay", id), "Replayed dead letter 0660bd17");
  assert.equal(describe("dead.replay", id, null, 1_000), "Replayed dead letter 0660bd17 and 999 more");
});

test("an unknown action is shown as recorded, with all its details", () => {
  assert.equal(
    describe("moon.paint_green", "x", {
      how_often: 2,
      by_hand: true,
      layers: [1, "<b>"],
      who: null,
      made: {},
    }),
    'moon: paint green x (how often 2, by hand yes, layers [1,"<b>"], who none, made {})',
  );
  assert.equal(describe("moon.paint", "<script>"), "moon: paint <script>");
  assert.doesNotMatch(
    describeAction(entry("moon.paint", "<script>", { "<i>": "<b>" })).text,
    /<(script|i|b)>/,
  );
});

test("only a valid event id or a tenant becomes a link", () => {
  const link = (action: string, subject: string, detail: unknown = null) =>
    /href="([^"]+)"/.exec(describeAction(entry(action, subject, detail)).text)?.[1];
  assert.equal(link("dead.replay", id), `/leads/${id}`);
  assert.equal(link("person.erase_begin", id), `/leads/${id}`);
  assert.equal(link("person.erase_begin", "a person"), undefined);
  assert.equal(link("tenant.add", "acme"), "/tenants/acme");
  assert.equal(link("tenant.add", "<b>"), undefined);
  assert.equal(link("key.issue", "7"), undefined);
  assert.equal(link("key.issue", "7", { tenant: "acme" }), "/tenants/acme");
  assert.equal(link("key.issue", "7", { tenant: "<b>" }), undefined);
});
