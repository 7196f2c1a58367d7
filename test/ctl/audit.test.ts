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
