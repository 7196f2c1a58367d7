import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import postgres from "postgres";
import { type EmbeddedPostgres, startPostgres } from "../../scripts/embedded_postgres.ts";
import { isAlive } from "../../scripts/processes.ts";
import { until } from "../support/until.ts";
import { atEnd } from "../support/at_end.ts";

let folder: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "lead-intake-test-with space-"));
  chmodSync(folder, 0o755);
});

atEnd(() => rmSync(folder, { recursive: true, force: true }));

async function ask(url: string, query: string): Promise<Record<string, unknown>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql.unsafe(query);
    return { ...row };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Starts a server in a process of its own, which prints the postmaster's id and then waits. */
async function startElsewhere(dataFolder: string | undefined) {
  const module = new URL("../../scripts/embedded_postgres.ts", import.meta.url);
  const options = dataFolder === undefined ? {} : { folder: dataFolder };
  const script = `const { startPostgres } = await import(${JSON.stringify(module.href)});
    const server = await startPostgres(${JSON.stringify(options)});
    console.log(JSON.stringify({ pid: server.pid, dataFolder: server.dataFolder }));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => output += text);
  await until(() => output.endsWith("\n"), { what: "the server of another process runs" });
  return { child, ...JSON.parse(output) as { pid: number; dataFolder: string } };
}

async function withServer(work: (server: EmbeddedPostgres) => Promise<void>): Promise<void> {
  const server = await startPostgres({ folder });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

test("the server is UTF-8, durable, on loopback only, and wants the password", async () => {
  await withServer(async (server) => {
    const settings = await ask(
      server.url,
      `select current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
        current_setting('full_page_writes') as full_page_writes, current_setting('listen_addresses') as addresses`,
    );
    assert.deepEqual(settings, {
      encoding: "UTF8",
      fsync: "on",
      full_page_writes: "on",
      addresses: "127.0.0.1",
    });
    const wrong = new URL(server.url);
    wrong.password = "wrong";
    await assert.rejects(ask(wrong.href, "select 1"), { code: "28P01" });
    assert.equal(statSync(join(folder, "postgres.password")).mode & 0o777, 0o600);
  });
});

test("a killed server restarts on the same address with what was committed", async () => {
  await withServer(async (server) => {
    const { url, pid } = server;
    await ask(url, "create table committed as select 7 as answer");
    server.kill("SIGKILL");
    await server.ended;
    await server.restart();
    assert.equal(server.url, url);
    assert.notEqual(server.pid, pid);
    assert.deepEqual(await ask(url, "select answer from committed"), { answer: 7 });
  });
});

test("a folder in use is refused with the process that uses it", async () => {
  await withServer(async () => {
    await assert.rejects(startPostgres({ folder }), new RegExp(`in use by process ${process.pid}`));
  });
});

test("a server whose starter was killed is stopped, and the next start takes the data over", async () => {
  const left = await startElsewhere(folder);
  left.child.kill("SIGKILL");
  await withServer(async (server) => {
    assert.ok(!isAlive(left.pid));
    assert.deepEqual(await ask(server.url, "select 1 as one"), { one: 1 });
  });
});

test("a pid file that names another program's process is not taken for a running server", async () => {
  await withServer(() => Promise.resolve());
  writeFileSync(
    join(folder, "postgres/postmaster.pid"),
    `${process.pid}\n${folder}/postgres\n0\n1\n\n\n0\nready\n`,
  );
  await withServer(async (server) => {
    assert.deepEqual(await ask(server.url, "select 1 as one"), { one: 1 });
  });
});

test("data of another major version are left alone, and named", async () => {
  await withServer(() => Promise.resolve());
  const file = join(folder, "postgres/PG_VERSION");
  const version = readFileSync(file);
  writeFileSync(file, "17\n");
  await assert.rejects(startPostgres({ folder }), /was made by PostgreSQL 17/);
  writeFileSync(file, version);
});

test("an unfinished initdb is not taken for data", async () => {
  const fresh = mkdtempSync(join(tmpdir(), "lead-intake-test-"));
  chmodSync(fresh, 0o755);
  spawnSync("mkdir", ["-p", join(fresh, "postgres.unfinished/base")]);
  const server = await startPostgres({ folder: fresh });
  await server.stop();
  assert.ok(!existsSync(join(fresh, "postgres.unfinished")));
  rmSync(fresh, { recursive: true });
});
