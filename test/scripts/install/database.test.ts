import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../../../scripts/embedded_postgres.ts";
import { withSql } from "../../support/database.ts";
import { atEnd } from "../../support/at_end.ts";
import { runTool } from "../../support/tool.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const server = await startPostgres({});
atEnd(() => server.stop());
const serverAt = `127.0.0.1:${server.port}`;
/** Puts an unreachable server before the server's address, as in a cluster. */
const clustered = (url: string) => url.replace(serverAt, `127.0.0.1:1,${serverAt}`);
const every = ["owner", "service", "actions"];

/** The addresses that a machine generates for itself. */
function logins(): Record<string, string> {
  const names = { owner: "lead_owner", service: "intake_login", actions: "actions_login" };
  return Object.fromEntries(
    Object.entries(names).map(([kind, name]) => [
      kind,
      clustered(`postgres://${name}:${randomBytes(8).toString("hex")}@${serverAt}/lead_intake`),
    ]),
  );
}

async function run(given: Readonly<Record<string, unknown>>, url = clustered(server.url)) {
  const input = JSON.stringify({ admin: { url }, ...given });
  return await runTool([process.execPath, "scripts/install/database.ts"], { cwd: root, input });
}

const opens = (url = "") =>
  withSql(url.replace("127.0.0.1:1,", ""), (sql) => sql`select 1`).then(() => true, () => false);

test("the roles and the database are created once, on the writable one of several servers", async () => {
  const first = logins();
  const made = await run({ newLogins: every, logins: first });
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  assert.match(made.stdout, /^Created the role lead_owner$[^]*^Created the database lead_intake$/m);
  for (const kind of every) assert.ok(await opens(first[kind]), kind);
  const asOwner = first.owner?.replace("127.0.0.1:1,", "") ?? "";
  const [given] = await withSql(asOwner, (sql) =>
    sql`
      select has_function_privilege('lead_service', 'pg_advisory_lock(bigint)', 'execute') as service,
        has_function_privilege('pg_advisory_lock(bigint)', 'execute') as owner,
        (select array_agg(rolconnlimit order by rolname) from pg_roles where rolname like '%\\_login') as limits`);
  assert.deepEqual({ ...given }, { service: false, owner: true, limits: [24, 72] });
  assert.deepEqual(await run({ newLogins: [], logins: first }), { code: 0, stdout: "", stderr: "" });

  // Another machine without the first one's files.
  const second = logins();
  for (const check of [true, false]) {
    const refused = await run({ check, newLogins: every, logins: second });
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /^This PostgreSQL server already has the roles actions_login, intake_login, lead_owner, .*--new-passwords.*\.\n$/,
    );
  }
  for (const kind of every) assert.ok(await opens(first[kind]), kind);

  const lost = await run({ newLogins: [], logins: second });
  assert.equal(lost.code, 0, lost.stderr);
  assert.match(lost.stdout, /^(Set the password of the role \w+ to the one in its database URL\n){3}$/);
  for (const kind of every) {
    assert.deepEqual([await opens(first[kind]), await opens(second[kind])], [false, true]);
  }
});

test("an invalid address is reported in one sentence without its password", async () => {
  const cases = {
    "postgres://admin:s3cret@db1,db2:x/postgres": /^The database URL has an invalid list of servers/,
    "postgres://admin:s3cret@db/postgres?sslrootcert=/ca.pem": /^The database URL has an sslrootcert/,
    "postgres://admin:s3cret@127.0.0.1:1,127.0.0.1:2/postgres":
      /^No server accepts writes: 127\.0\.0\.1:1 does not respond \(ECONNREFUSED\), 127/,
  };
  for (const [url, sentence] of Object.entries(cases)) {
    const { code, stderr } = await run({ check: true, newLogins: [], logins: logins() }, url);
    assert.equal(code, 1);
    assert.match(stderr, sentence);
    assert.ok(!stderr.includes("s3cret") && stderr.trim().split("\n").length === 1, stderr);
  }
});
