import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import postgres from "postgres";
import { openStore } from "../support/store.ts";
import { runCtl } from "../support/server.ts";

const { database, databaseUrl } = await openStore();

async function refusal(databaseUrl: string, args = ["tenant", "add", "acme", "--json"]): Promise<string> {
  const { code, stdout, stderr } = await runCtl(args, { databaseUrl });
  assert.equal(code, 1, stderr);
  assert.equal(stdout, "");
  assert.equal(stderr.trimEnd().split("\n").length, 1, "one line, no stack");
  return stderr;
}

function changed(change: (url: URL) => void): string {
  const url = new URL(databaseUrl);
  change(url);
  return url.href;
}

test("a database that cannot be reached is named without its password", async () => {
  const message = await refusal("postgres://operator:s3cr%20et@127.0.0.1:1/leads");
  assert.match(message, /^The database at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\); check/);
  assert.doesNotMatch(message, /s3cr|operator/);
});

test("a server that answers nothing is given up", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as { port: number };
  const message = await refusal(`postgres://127.0.0.1:${port}/leads`);
  assert.match(message, /cannot be reached \(CONNECT_TIMEOUT\)/);
  silent.close();
});

test("text that is no address is refused and not repeated", async () => {
  for (const text of ["s3cret", "http://u:s3cret@h/", "postgres://u:s3cret@h:port/db"]) {
    const message = await refusal(text);
    assert.match(message, /^DATABASE_URL is no address/);
    assert.doesNotMatch(message, /s3cret/);
  }
});

test("a login that is refused says whose, and not the password", async () => {
  const message = await refusal(changed((url) => {
    url.username = "stranger";
    url.password = "s3cret";
  }));
  assert.match(message, /refuses the login of stranger/);
  assert.doesNotMatch(message, /s3cret/);
});

test("a read-only database says so", async () => {
  const sql = postgres(databaseUrl, { max: 1 });
  await sql.unsafe(`alter database "${database.name}" set default_transaction_read_only = on`);
  assert.match(await refusal(databaseUrl), /is read-only.*Nothing was changed/);
  await sql.unsafe(`alter database "${database.name}" reset default_transaction_read_only`);
  await sql.end({ timeout: 1 });
});

test("a revocation that another session keeps waiting is given up, and says where to look", async () => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const { stdout } = await runCtl(["tenant", "add", "held", "--json"], { databaseUrl });
  assert.match(stdout, /held/);
  await runCtl(["key", "issue", "held", "--label", "held"], { databaseUrl });
  const [key] = await sql`select id from api_key where label = 'held'`;
  await sql`begin`;
  await sql`select pg_advisory_xact_lock_shared(1, ${key?.id})`;
  assert.match(
    await refusal(databaseUrl, ["key", "revoke", String(key?.id), "--json"]),
    /does not let go .*55P03.*pg_stat_activity.*nothing was changed, run the command again/,
  );
  await sql`rollback`;
  const [after] = await sql`select revoked_at from api_key where id = ${key?.id}`;
  assert.equal(after?.revoked_at, null);
  await sql.end({ timeout: 1 });
});

test("a database that is not migrated says so and names the command", async () => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  await sql`drop table tenant cascade`;
  await sql.end({ timeout: 1 });
  assert.match(await refusal(databaseUrl), /is not migrated.*run: npm run migrate/);
  assert.match(await refusal(databaseUrl, ["lead", "list"]), /is not migrated/);
});
