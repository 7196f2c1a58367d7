import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "box", "--sandbox"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "acme"], on);
});

test("a key is printed once; only its SHA-256 and last 4 characters are stored", async () => {
  const { stdout } = await runCtl(["key", "issue", "acme", "--label", "once"], on);
  const [key = ""] = /lead_live_\w+/.exec(stdout) ?? [];
  assert.match(stdout, /not be shown again/);
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`;
  assert.ok(tables.length > 8);
  const secrets = [key, key.slice(10, 42), Buffer.from(key).toString("hex")];
  for (const { name } of tables) {
    const [found] = await sql.unsafe(
      `select count(*)::int as rows from ${name} as t
       where exists (select 1 from unnest($1::text[]) as s where position(s in t::text) > 0)`,
      [secrets],
    );
    assert.equal(found?.rows, 0, name);
  }
  const digest = createHash("sha256").update(key).digest("hex");
  const [row] = await sql`select last4 from api_key where digest = decode(${digest}, 'hex')`;
  assert.equal(row?.last4, key.slice(-4));
  const listed = await runCtl(["key", "list", "--json"], on);
  assert.ok(!listed.stdout.includes(key.slice(0, -4)));
  assert.ok(!listed.stdout.includes(digest));
});

test("key revoke of a revoked key exits 0 and keeps the first time", async () => {
  const { id } = await ctl(["key", "issue", "acme", "--label", "twice"], on);
  const first = await ctl(["key", "revoke", id], on);
  assert.match(first.revoked_at, /Z$/);
  const { revoked_at: _, ...revocation } = first;
  assert.deepEqual(revocation, { id, tenant: "acme", label: "twice", already_revoked: false });
  const second = await ctl(["key", "revoke", id], on);
  assert.deepEqual(second, { ...first, already_revoked: true });
  assert.match((await runCtl(["key", "revoke", id], on)).stdout, /was already revoked/);
  const listed = (await ctl(["key", "list"], on)).find((key: { id: string }) => key.id === id);
  assert.equal(listed.revoked_at, first.revoked_at);
});

test("key limit raises a key's limit until a time, and --clear ends it", async () => {
  const { id } = await ctl(["key", "issue", "acme", "--label", "backfill"], on);
  const limitOf = async () =>
    (await ctl(["key", "list"], on)).find((key: { id: string }) => key.id === id).limit;
  const limit = { per_minute: 6000, burst: 500, until: "2999-01-01T00:00:00.000Z" };
  const raise = ["key", "limit", id, "--per-minute", "6000", "--burst", "500", "--until"];
  assert.deepEqual(await ctl([...raise, "2999-01-01"], on), { id, limit });
  assert.deepEqual(await limitOf(), limit);
  assert.match((await runCtl(["key", "list"], on)).stdout, /active, 6000\/min, burst 500, until 2999-01-01/);
  assert.deepEqual(await ctl(["key", "limit", id, "--clear"], on), { id, limit: null });
  assert.equal(await limitOf(), null);

  await ctl([...raise, "2h"], on);
  await sql`update api_key set limit_until = now() - interval '1 second' where id = ${Number(id)}`;
  assert.equal(await limitOf(), null, "an expired window is not shown");
});

test("ip limit raises a network's limit, ip list shows it, and --clear ends it", async () => {
  const raise = ["--per-minute", "600", "--burst", "60", "--until", "2999-01-01T00:00Z"];
  const limit = { per_minute: 600, burst: 60, until: "2999-01-01T00:00:00.000Z" };
  assert.deepEqual(await ctl(["ip", "list"], on), []);
  assert.deepEqual(await ctl(["ip", "limit", "203.0.113.7/24", ...raise], on), {
    network: "203.0.113.0/24",
    limit,
  });
  assert.equal((await ctl(["ip", "limit", "2001:DB8::1", ...raise], on)).network, "2001:db8::1/128");
  const again = ["--per-minute", "120", "--burst", "31", "--until", "1h"];
  await ctl(["ip", "limit", "203.0.113.0/24", ...again], on);
  await ctl(["ip", "limit", "203.0.113.0/24", ...raise], on);
  assert.deepEqual(await ctl(["ip", "list"], on), [
    { network: "203.0.113.0/24", ...limit },
    { network: "2001:db8::1/128", ...limit },
  ]);
  assert.match((await runCtl(["ip", "list"], on)).stdout, /203\.0\.113\.0\/24 +600 +60 +2999-01-01 00:00:00/);
  await sql`update ip_limit set until = now() - interval '1 second' where masklen(network) = 128`;
  assert.equal((await ctl(["ip", "list"], on)).length, 1);
  assert.deepEqual(await ctl(["ip", "limit", "203.0.113.0/24", "--clear"], on), {
    network: "203.0.113.0/24",
    limit: null,
  });
  const { code, stderr } = await runCtl(["ip", "limit", "203.0.113.0/24", "--clear"], on);
  assert.equal(code, 1);
  assert.match(stderr, /^There is no raised limit for 203\.0\.113\.0\/24/);
});
