import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import postgres from "postgres";
import { asService, createDatabase, ownPostgres, withSql } from "../support/database.ts";
import { type Outcome, runToEnd, startServer } from "../support/server.ts";
import { lead, TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

const database = await createDatabase();
const folder = temporaryFolder("suite");

/** Starts the server, which is expected to exit. */
function start(env: Readonly<Record<string, string>>, databaseUrl = database.url): Promise<Outcome> {
  return runToEnd("src/main.ts", [], { databaseUrl, env: { INTAKE_LISTEN: "127.0.0.1:0", ...env } });
}

/** Creates an empty database on the shared server, with these options. */
async function otherDatabase(options: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `test_other_${randomBytes(6).toString("hex")}`;
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  await sql.unsafe(`create database ${name} template template0 ${options}`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  const drop = async () => {
    await sql.unsafe(`drop database ${name} with (force)`);
    await sql.end();
  };
  return { url: url.href, drop };
}

test("wrong settings stop the start with one message that lists all errors, without a secret, and exit 2", async () => {
  const { code, stdout, stderr } = await start({
    INTAKE_LISTEN: "somewhere",
    INTAKE_URL: "ftp://intake.example/x",
    TLS_CERT_FILE: join(folder, "missing.pem"),
    TLS_KEY_FILE: join(folder, "missing-key.pem"),
    TRUSTED_PROXIES: "10.0.0.0/40",
    INTAKE_IP_PER_MINUTE: "many",
    INTAKE_KEY_BURST: "0",
  }, "mysql://root:hunter2@db/leads");
  assert.equal(code, 2);
  assert.equal(stdout, "");
  const faults = [
    "DATABASE_URL is not a URL such as postgres://",
    "INTAKE_LISTEN must be address:port",
    "INTAKE_URL is not a base URL",
    "TLS_CERT_FILE cannot be read",
    "TLS_KEY_FILE cannot be read",
    "TRUSTED_PROXIES is not a list of networks",
    "INTAKE_IP_PER_MINUTE is not a whole number",
    "INTAKE_KEY_BURST is not a whole number",
  ];
  for (const fault of faults) assert.ok(stderr.includes(fault), `${fault}\n${stderr}`);
  for (const secret of ["hunter2", "mysql", "root"]) assert.ok(!stderr.includes(secret), stderr);
  assert.doesNotMatch(stderr, /\bat .*:\d+:\d+/);
});

for (const address of ["0.0.0.0:0", "[::]:0", "203.0.113.5:443"]) {
  test(`a public address without a certificate (${address}) is refused: exit 2, nothing listens`, async () => {
    const { code, stdout, stderr } = await start({ INTAKE_LISTEN: address });
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /INTAKE_LISTEN is a public address .*TLS_CERT_FILE/);
  });
}

test("an unmigrated database stops the start, names the command and exits 2", async () => {
  const empty = await otherDatabase("encoding 'UTF8'");
  const { code, stdout, stderr } = await start({}, empty.url);
  await empty.drop();
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /not migrated; run: npm run migrate .*0001_tenant\.sql.* and \d+ more/);
  assert.ok(stderr.length < 300, stderr);
});

test("a database with another version's functions is refused", async () => {
  const other = await createDatabase();
  await withSql(
    other.url,
    (sql) => sql`update schema_file set digest = 'x' where name = 'functions/accept.sql'`,
  );
  const { code, stderr } = await start({}, other.url);
  await other.drop();
  assert.equal(code, 2);
  assert.match(stderr, /npm run migrate .*functions\/accept\.sql/);
});

for (const encoding of ["SQL_ASCII", "LATIN1"]) {
  test(`a database with the encoding ${encoding} is refused, exit 2`, async () => {
    const other = await otherDatabase(`encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`);
    const { code, stderr } = await start({}, other.url);
    await other.drop();
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`encoding is ${encoding}.*UTF8`));
  });
}

for (const setting of ["fsync", "full_page_writes"]) {
  test(`a server with ${setting} off is refused, exit 2`, async () => {
    const own = await ownPostgres({ [setting]: "off" });
    const { code, stderr } = await start({}, own.url);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`${setting} is off`));
  });
}

test("the service overrides synchronous_commit off in the database", async () => {
  const testEnv = await TestEnv.open();
  await testEnv.sql.unsafe(`alter database ${testEnv.database.name} set synchronous_commit = off`);
  await testEnv.sql.unsafe(`
    create table seen_setting (value text);
    create function note_setting() returns trigger language plpgsql as $$
    begin insert into seen_setting values (current_setting('synchronous_commit')); return null; end $$;
    create trigger note_setting after insert on event execute function note_setting()`);
  await testEnv.start();
  const key = await testEnv.issue();
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 202);
  const [row] = await testEnv.sql`select value from seen_setting`;
  assert.equal(row?.value, "on");
});

test("an unreachable database ends the start with one sentence, without the password", async () => {
  const url = new URL(database.url);
  url.port = "1";
  const { code, stderr } = await start({}, url.href);
  assert.equal(code, 1);
  assert.match(stderr, /^The database at \S+:1 cannot be reached .*DATABASE_URL/);
  assert.ok(!stderr.includes(url.password));
});

test("a wrong password ends the start with one sentence, without the password", async () => {
  const url = new URL(database.url);
  url.password = "hunter2";
  url.username = "stranger";
  const { code, stderr } = await start({}, url.href);
  assert.equal(code, 1);
  assert.match(stderr, /^The database at \S+ refuses the login of stranger .*DATABASE_URL\n$/);
  assert.ok(!stderr.includes("hunter2"), stderr);
  assert.doesNotMatch(stderr, /\bat .*:\d+:\d+/);
});

test("a taken port ends the start with a sentence that names it and the setting", async () => {
  const taken = createServer();
  await new Promise<void>((settle) => taken.listen(0, "127.0.0.1", settle));
  const { port } = taken.address() as { port: number };
  const { code, stderr } = await start({ INTAKE_LISTEN: `127.0.0.1:${port}` });
  taken.close();
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`${port}`));
  assert.match(stderr, /INTAKE_LISTEN/);
  assert.doesNotMatch(stderr, /\bat .*:\d+:\d+/);
});

test("a process that runs as the owner of the tables starts and logs a recommendation", async () => {
  const owner = await startServer({ databaseUrl: database.url });
  const line = owner.logs.find(({ event }) => event === "runs_as_owner");
  assert.equal(line?.role, new URL(database.url).username);
  assert.match(String(line?.advice), /a member of lead_service/);
  await owner.stop();

  const service = await startServer({ databaseUrl: asService(database.url) });
  assert.equal(service.logs.find(({ event }) => event === "runs_as_owner"), undefined);
  await service.stop();
});
