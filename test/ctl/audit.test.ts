import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase } from "../support/database.ts";
import { ctl } from "../support/server.ts";
import { accept } from "./event.ts";

const database = await createDatabase();
const sql = postgres(database.url, { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await database.drop();
});

test("what the command does to keys, terms and dead letters is noted with the role that did it, and no key's text", async () => {
  const on = { databaseUrl: database.url };
  await ctl(["tenant", "add", "acme"], on);
  const key = await ctl(["key", "issue", "acme", "--label", "web"], on);
  await ctl(["key", "limit", key.id, "--per-minute", "1200", "--burst", "300", "--until", "2999-01-01"], on);
  await ctl(["vocabulary", "add", "sauna", "--status", "proposed"], on);
  await ctl(["vocabulary", "confirm", "sauna"], on);
  await ctl(["vocabulary", "retire", "sauna"], on);
  const { event_id: dead } = await accept(sql, key.id);
  await sql`delete from outbox`;
  await sql`insert into dead_letter select event_id, tenant_id, now(), 'crm_500' from event`;
  await ctl(["dead", "replay", dead], on);
  await ctl(["key", "revoke", key.id], on);
  // Nothing changes: nothing is noted.
  await ctl(["key", "revoke", key.id], on);

  const [{ role }] = await sql<[{ role: string }]>`select current_user as role`;
  const rows = await sql<{ actor: string; action: string; subject: string; detail: unknown }[]>`
    select actor, action, subject, detail from audit order by id`;
  const ofKey = { tenant: "acme", surface: "intake", label: "web" };
  const entry = (action: string, subject: string, detail: unknown) => ({
    actor: `ctl ${role}`,
    action,
    subject,
    detail,
  });
  assert.deepEqual([...rows], [
    entry("tenant.add", "acme", { sandbox: false }),
    entry("key.issue", key.id, ofKey),
    entry("key.limit", key.id, ofKey),
    entry("area.propose", "sauna", { before: null }),
    entry("area.confirm", "sauna", { before: "proposed" }),
    entry("area.retire", "sauna", { before: "confirmed" }),
    entry("dead.replay", dead, null),
    entry("key.revoke", key.id, ofKey),
  ]);
  assert.ok(!JSON.stringify(rows).includes(key.key));
});

test("what the command does to tenants, routes, campaigns and networks is noted, with no address and no secret", async () => {
  const on = { databaseUrl: database.url };
  await sql`truncate audit`;
  await ctl(["tenant", "add", "box", "--name", "Grace Hopper Roofing", "--sandbox"], on);
  await ctl(["tenant", "add", "globex", "--name", "Grace Hopper Roofing"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "globex"], on);
  const route = (...options: string[]) => ctl(["tenant", "route", "globex", ...options], on);
  const { crm_secret: secret } = await route("--crm-url", "https://crm.example.com/t0ken");
  await route("--email", "grace@hopper.example");
  // Read, or as it was before: nothing is noted.
  await route();
  await route("--email", "grace@hopper.example");
  await route("--rotate-secret");
  await route("--crm-url", "https://crm.example.com/other", "--clear", "email");
  await route("--clear", "crm");
  const until = "2999-01-01T00:00:00.000Z";
  await ctl(["ip", "limit", "203.0.113.7/24", "--per-minute", "600", "--burst", "90", "--until", until], on);
  await ctl(["ip", "limit", "203.0.113.0/24", "--clear"], on);
  for (
    const refused of [
      ["tenant", "add", "box"],
      ["tenant", "route", "box", "--email", "grace@hopper.example"],
      ["campaign", "add", "spring", "--tenant", "globex"],
      ["ip", "limit", "203.0.113.0/24", "--clear"],
    ]
  ) await assert.rejects(ctl(refused, on), refused.join(" "));

  const rows = await sql<{ action: string; subject: string; detail: Record<string, unknown> | null }[]>`
    select action, subject, detail from audit order by id`;
  const routed = (crm: string, email: string, isNew: boolean) => ({ crm, email, new_secret: isNew });
  assert.deepEqual([...rows].map(({ action, subject, detail }) => [action, subject, detail]), [
    ["tenant.add", "box", { sandbox: true }],
    ["tenant.add", "globex", { sandbox: false }],
    ["campaign.add", "spring", { tenant: "globex" }],
    ["tenant.route", "globex", routed("set", "none", true)],
    ["tenant.route", "globex", routed("kept", "set", false)],
    ["tenant.route", "globex", routed("kept", "kept", true)],
    ["tenant.route", "globex", routed("changed", "cleared", true)],
    ["tenant.route", "globex", routed("cleared", "none", false)],
    ["ip.limit", "203.0.113.0/24", { per_minute: 600, burst: 90, until: rows[8]?.detail?.until }],
    ["ip.clear", "203.0.113.0/24", null],
  ]);
  assert.equal(new Date(rows[8]?.detail?.until as string).toISOString(), until);
  assert.doesNotMatch(JSON.stringify(rows), /grace|hopper|crm\.example|t0ken|whsec/i);
  assert.ok(!JSON.stringify(rows).includes(secret));
});
