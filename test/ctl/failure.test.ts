import assert from "node:assert/strict";
import { test } from "node:test";
import postgres from "postgres";
import { withSql } from "../support/database.ts";
import { openStore } from "../support/store.ts";
import { runCtl } from "../support/server.ts";

const { databaseUrl } = await openStore();

async function refusal(databaseUrl: string, args = ["tenant", "add", "acme", "--json"]): Promise<string> {
  const { code, stdout, stderr } = await runCtl(args, { databaseUrl });
  assert.equal(code, 1, stderr);
  assert.equal(stdout, "");
  assert.equal(stderr.trimEnd().split("\n").length, 1, "one line, no stack");
  return stderr;
}

test("a database that cannot be reached is reported without its password", async () => {
  const message = await refusal("postgres://operator:s3cr%20et@127.0.0.1:1/leads");
  assert.match(message, /^The database at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\); check/);
  assert.doesNotMatch(message, /s3cr|operator/);
});

test("a revocation blocked by another session's lock fails and names pg_stat_activity", async () => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const { stdout } = await runCtl(["tenant", "add", "held", "--json"], { databaseUrl });
  assert.match(stdout, /held/);
  await runCtl(["key", "issue", "held", "--label", "held"], { databaseUrl });
  const [key] = await sql`select id from api_key where label = 'held'`;
  await sql`begin`;
  await sql`select pg_advisory_xact_lock_shared(1, ${key?.id})`;
  assert.match(
    await refusal(databaseUrl, ["key", "revoke", String(key?.id), "--json"]),
    /holds a lock .*55P03.*pg_stat_activity.*changed nothing, run the command again/,
  );
  await sql`rollback`;
  const [after] = await sql`select revoked_at from api_key where id = ${key?.id}`;
  assert.equal(after?.revoked_at, null);
  await sql.end({ timeout: 1 });
});

test("a database that is not migrated is reported with the command to run", async () => {
  await withSql(databaseUrl, (sql) => sql`drop table tenant cascade`);
  assert.match(await refusal(databaseUrl), /is not migrated.*run: npm run migrate/);
  assert.match(await refusal(databaseUrl, ["lead", "list"]), /is not migrated/);
});
