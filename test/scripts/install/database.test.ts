import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../../../scripts/embedded_postgres.ts";
import { withSql } from "../../support/faults/store.ts";
import { atEnd } from "../../support/at_end.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const server = await startPostgres({});
atEnd(() => server.stop());
const serverAt = `127.0.0.1:${server.port}`;
/** The server's address behind one that is away, as a cluster has it. */
const clustered = (url: string) => url.replace(serverAt, `127.0.0.1:1,${serverAt}`);
const every = ["owner", "service", "actions"];

/** The addresses that a machine makes for itself. */
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
  const child = spawn(process.execPath, ["scripts/install/database.ts"], { cwd: root });
  child.stdin.end(JSON.stringify({ admin: { url }, ...given }));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, stdout, stderr };
}

const opens = (url = "") =>
  withSql(url.replace("127.0.0.1:1,", ""), (sql) => sql`select 1`).then(() => true, () => false);

test("roles and database are made on the one of several servers that takes writes, once", async () => {
  const first = logins();
  const made = await run({ made: every, logins: first });
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
  assert.deepEqual(await run({ made: [], logins: first }), { code: 0, stdout: "", stderr: "" });

  // Another machine, which has not brought the files of this one.
  const second = logins();
  for (const check of [true, false]) {
    const refused = await run({ check, made: every, logins: second });
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /^This PostgreSQL already has actions_login, intake_login, lead_owner, .*--new-passwords.*\.\n$/,
    );
  }
  for (const kind of every) assert.ok(await opens(first[kind]), kind);

  const lost = await run({ made: [], logins: second });
  assert.equal(lost.code, 0, lost.stderr);
  assert.match(lost.stdout, /^(Set the password of the role \w+ to the one in its settings\n){3}$/);
  for (const kind of every) {
    assert.deepEqual([await opens(first[kind]), await opens(second[kind])], [false, true]);
  }
});

test("what is wrong with the address is told in one sentence, without its password", async () => {
  const cases = {
    "postgres://admin:s3cret@db1,db2:x/postgres": /^The address of the database is not valid: its servers/,
    "postgres://admin:s3cret@db/postgres?sslrootcert=/ca.pem":
      /^The address of the database has an sslrootcert/,
    "postgres://admin:s3cret@127.0.0.1:1,127.0.0.1:2/postgres":
      /^No server accepts writes: 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\), 127/,
  };
  for (const [url, sentence] of Object.entries(cases)) {
    const { code, stderr } = await run({ check: true, made: [], logins: logins() }, url);
    assert.equal(code, 1);
    assert.match(stderr, sentence);
    assert.ok(!stderr.includes("s3cret") && stderr.trim().split("\n").length === 1, stderr);
  }
});
