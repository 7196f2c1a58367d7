import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import postgres from "postgres";
import { openStore } from "../support/store.ts";
import {
  actionsEnv,
  createRole,
  runActionsToEnd,
  type TestRole,
} from "../support/actions/actions_process.ts";
import { Authority, type Issued } from "../support/authority.ts";

const { databaseUrl } = await openStore();
let authority: Authority;
let server: Issued;
let role: TestRole;

before(async () => {
  role = await createRole(databaseUrl, "lead_actions");
  authority = new Authority();
  server = authority.issue({ name: "actions", use: "server" });
});

const env = (other: Readonly<Record<string, string>> = {}) =>
  actionsEnv({ databaseUrl: role.url, authority, server, env: other });

test("invalid settings exit 2 with all faults and no secret", async () => {
  const { code, stdout, stderr } = await runActionsToEnd({
    ACTIONS_LISTEN: "everywhere",
    ACTIONS_DATABASE_URL: "redis://:hunter2@127.0.0.1",
    SMTP_URL: "ftp://hunter2@x",
  });
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^The settings are invalid:\n {2}ACTIONS_LISTEN/);
  assert.match(stderr, /ACTIONS_CLIENT_CA_FILE is not set[^]*MAIL_FROM is not set/);
  assert.doesNotMatch(stderr, /hunter2|^ +at /m);
});

for (const runtime of ["node", "deno"] as const) {
  test(`${runtime}: ACTIONS_DATABASE_URL_FILE is read with the process's restricted permissions`, async () => {
    const file = join(authority.folder, `${runtime}.secret`);
    writeFileSync(file, "postgres://x:hunter2@127.0.0.1:1/x\n");
    const { ACTIONS_DATABASE_URL: _, ...rest } = env();
    const { code, stderr } = await runActionsToEnd({ ...rest, ACTIONS_DATABASE_URL_FILE: file }, runtime);
    assert.equal(code, 1);
    assert.match(stderr, /^The database at 127\.0\.0\.1:1 cannot be reached/);
    assert.doesNotMatch(stderr, /hunter2|^ +at /m);
  });
}

test("a role without rights and a database that is not migrated each exit 2", async () => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const name = new URL(role.url).username;
  await sql.unsafe(`revoke lead_actions from ${name}`);
  const forbidden = await runActionsToEnd(env());
  assert.equal(forbidden.code, 2);
  assert.match(forbidden.stderr, /grant lead_actions to/);
  await sql.unsafe(`grant lead_actions to ${name}`);
  await sql`update schema_file set digest = 'x' where name = '0009_actions.sql'`;
  const old = await runActionsToEnd(env());
  await sql.end();
  assert.equal(old.code, 2);
  assert.match(old.stderr, /run: npm run migrate .*0009_actions\.sql/);
});
