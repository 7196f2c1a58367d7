import assert from "node:assert/strict";
import { test } from "node:test";
import { createDatabase } from "../support/database.ts";
import { runToEnd } from "../support/server.ts";

const migrate = (databaseUrl: string, args: readonly string[] = []) =>
  runToEnd("scripts/migrate.ts", [...args], { databaseUrl, runtime: "node" });

test("npm run migrate applies sql/ to an empty database and names the files", async () => {
  const database = await createDatabase({ migrated: false });
  const { code, stdout } = await migrate(database.url);
  assert.equal(code, 0);
  assert.match(stdout, /^Applied sql\/0001_tenant\.sql\n/);
  assert.match(stdout, /^Applied sql\/functions\/accept\.sql$/m);
  await database.drop();
});

test("npm run migrate names a database that is not there, without its password", async () => {
  const { code, stderr } = await migrate("postgres://somebody:hunter2@127.0.0.1:1/leads");
  assert.equal(code, 1);
  assert.match(stderr, /127\.0\.0\.1:1/);
  assert.match(stderr, /ECONNREFUSED/);
  assert.doesNotMatch(stderr, /hunter2/);
});

test("npm run migrate refuses what is no address, and does not repeat it", async () => {
  for (const text of ["hunter2", "postgres://a%zz:hunter2@h/x"]) {
    const { code, stderr } = await migrate(text);
    assert.equal(code, 1);
    assert.match(stderr, /DATABASE_URL (is no address|has a % that is no escape)/);
    assert.doesNotMatch(stderr, /hunter2|a%zz/);
  }
});

test("npm run migrate refuses arguments and applies nothing: exit 2", async () => {
  const database = await createDatabase({ migrated: false });
  for (const argument of ["--dry", "0006_outbox.sql"]) {
    const { code, stdout, stderr } = await migrate(database.url, [argument]);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, new RegExp(`^Unknown argument: ${argument}\n\nUsage: npm run migrate\n`));
  }
  const help = await migrate(database.url, ["--help"]);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: npm run migrate\n[^]*DATABASE_URL/);
  assert.match((await migrate(database.url)).stdout, /^Applied sql\/0001_tenant\.sql\n/);
  await database.drop();
});
