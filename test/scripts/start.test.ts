/** `npm start` from end to end, in copies of the repository. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, type Dirent, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { childrenOf } from "../../scripts/processes.ts";
import { copyCheckout } from "../support/scripts/checkout.ts";
import { get } from "../support/client.ts";
import { createDatabase } from "../support/database.ts";
import { listen } from "../support/listen.ts";
import { pasteServed, postServed } from "../support/served.ts";
import { until } from "../support/until.ts";
import {
  allEnd,
  killAll,
  onDeno,
  onNode,
  processesOf,
  type Start,
  start,
  welcome,
} from "../support/scripts/npm_start.ts";

const checkout = copyCheckout();
// A test that failed must not leave a start in the checkout of the next one.
afterEach(killAll);

async function checkKey(url: string, key: string): Promise<number> {
  return (await postServed(`${url}/v1/intake`, { key, body: {} })).status;
}

/** Asserts that the site exists and uses the address at which it is served. */
function assertSite(text: string): void {
  const address = /^ {2}site +(\S+)$/m.exec(text)?.[1];
  const page = readFileSync(join(checkout, "build", "site", "index.html"), "utf8");
  assert.ok(page.includes(`<link rel="canonical" href="${address}/">`), `${address}`);
}

/** Waits until the operator's console is at the printed address and reports no problem and the first deliveries. */
async function assertConsole(text: string): Promise<void> {
  const address = /operator's console +(\S+)$/m.exec(text)?.[1] ?? "";
  const page = await until(async () => {
    const answer = await get(address, { localAddress: "127.0.0.1" });
    return /All is well[^]*Actions tier<\/dt><dd>responds/.test(answer.text) && answer;
  });
  assert.equal(page.status, 200);
}

test("npm start prints curl lines for a lead and a form that answer 202, then 200; Ctrl-C leaves nothing running", async () => {
  const started = start(checkout);
  const { text, curl, key, url, formsKey, formCurl } = await welcome(started);
  assert.match(key ?? "", /^lead_test_/);
  assert.match(formsKey ?? "", /^form_test_/);
  assert.match(text, /^ {2}database +\.data\/postgres$/m);
  assert.match(text, /^The log is in \.data\/log; LOG=json prints it here instead\.$/m);
  assert.doesNotMatch(text, /"event":/);

  for (const line of [curl, formCurl]) {
    const paste = () => pasteServed(() => spawnSync("/bin/sh", ["-c", line], { encoding: "utf8" }).stdout);
    assert.match(await paste(), /^HTTP\/1\.1 202 [\s\S]*"status":"accepted"/);
    assert.match(await paste(), /^HTTP\/1\.1 200 [\s\S]*"status":"duplicate"/);
  }
  assert.equal(await checkKey(url, key ?? ""), 422);
  assertSite(text);
  await assertConsole(text);

  const pids = processesOf(started);
  assert.ok(pids.length >= 6, "PostgreSQL, the actions process and the service run, each with a watchdog");
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
  await allEnd(pids);
  assert.ok(started.output().endsWith("\nStopped. Your data is in .data\n"), started.output());
  const log = readFileSync(join(checkout, ".data/log"), "utf8").trimEnd().split("\n");
  const events = log.map((line) => JSON.parse(line).event);
  assert.equal(events.filter((event) => event === "started").length, 2, "both processes log there");
});

test("LOG=json prints the log and stores none", async () => {
  const copy = copyCheckout();
  const started = start(copy, { LOG: "json" });
  const { text } = await welcome(started);
  assert.match(text, /^\{.*"event":"started"/m);
  assert.doesNotMatch(text, /The log is in/);
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
  assert.ok(!existsSync(join(copy, ".data/log")));
});

test("a second npm start keeps the data and the keys, and --new-keys replaces them", async () => {
  /** Starts it and returns its keys. */
  const keysOf = async (command = onNode) => {
    const started = start(checkout, {}, command);
    const { text, url } = await welcome(started);
    return { started, url, keys: text.match(/(?<=^ {2}.*key +)(lead|form)_\S+$/gm) ?? [] };
  };
  const end = async ({ started }: { readonly started: Start }) => {
    started.child.kill("SIGINT");
    assert.equal(await started.ended, 0);
  };
  const first = await keysOf();
  assert.equal(first.keys.length, 4, "of two tenants, one of each surface");
  await end(first);
  // As an older version left them.
  for (const name of ["log", "postgres.log", "crm_url"]) chmodSync(join(checkout, ".data", name), 0o644);

  const again = await keysOf(onDeno);
  assert.deepEqual(again.keys, first.keys);
  const [sandboxKey = "", , developmentKey = ""] = again.keys;
  await end(again);
  const isFile = (entry: Dirent) => entry.isFile();
  const files = readdirSync(join(checkout, ".data"), { withFileTypes: true }).filter(isFile);
  assert.ok(files.length >= 4, files.join());
  for (const { name } of files) {
    assert.equal(statSync(join(checkout, ".data", name)).mode & 0o777, 0o600, name);
  }

  const { started: second, url, keys } = await keysOf([...onNode, "--new-keys"]);
  assert.equal(new Set([...first.keys, ...keys]).size, 8);
  assert.equal(await checkKey(url, sandboxKey), 401);
  assert.equal(await checkKey(url, developmentKey), 401);
  assert.equal(await checkKey(url, keys[0] ?? ""), 422);

  // `ctl` finds the database in the folder.
  const file = join(checkout, ".data/running.json");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const list = spawnSync(process.execPath, ["scripts/ctl.ts", "key", "list", "--json"], {
    cwd: checkout,
    env: { PATH: process.env.PATH },
    encoding: "utf8",
  });
  const doctor = spawnSync(process.execPath, ["scripts/ctl.ts", "doctor", "--json"], {
    cwd: checkout,
    env: { PATH: process.env.PATH },
    encoding: "utf8",
  });
  const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; state: string }[] };
  assert.equal(doctor.status, 0, doctor.stdout);
  for (const name of ["Actions tier", "Mail server"]) {
    assert.equal(checks.find(({ check }) => check === name)?.state, "ok", name);
  }

  const listed = JSON.parse(list.stdout) as { label: string; revoked_at: string | null }[];
  assert.ok(listed.every(({ label }) => label === "npm-start"), list.stdout);
  assert.equal(listed.filter(({ revoked_at }) => revoked_at === null).length, 4);

  second.child.kill("SIGTERM");
  assert.equal(await second.ended, 0);
  assert.ok(!existsSync(file), "no address of a database that is gone");
});

test("npm start chooses and prints a free address when a default one is taken", async () => {
  // The address is taken, whoever holds it.
  const holder = createServer().on("error", () => {}).listen({ port: 8080, host: "127.0.0.1" }).unref();
  const started = start(checkout, { INTAKE_LISTEN: "" });
  const { text, url, key = "" } = await welcome(started);
  const instead = /^Another program listens on 127\.0\.0\.1:8080; intake uses (127\.0\.0\.1:\d+)\.$/m.exec(
    text,
  );
  assert.equal(url, `http://${instead?.[1]}`, text);
  assert.equal(await checkKey(url, key), 422);
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
  holder.close();
});

test("npm start names an explicitly set address that is taken, with its setting, before it starts anything", async () => {
  const port = await listen(createServer());
  const copy = copyCheckout();
  const started = start(copy, { INTAKE_LISTEN: `127.0.0.1:${port}` });
  assert.equal(await started.ended, 1);
  assert.ok(started.output().includes(`127.0.0.1:${port}  (INTAKE_LISTEN)`), started.output());
  assert.match(started.output(), /INTAKE_LISTEN=127\.0\.0\.1:\d+ npm start/);
  assert.ok(!existsSync(join(copy, ".data")));
});

test("a concurrent npm start says where the first one runs, starts nothing and exits 0", async () => {
  const first = start(checkout);
  const { url, key = "" } = await welcome(first);
  const second = start(checkout);
  assert.equal(await second.ended, 0);
  const said = second.output();
  assert.ok(said.includes(`already running here (process ${first.child.pid})`), said);
  assert.ok(said.includes(`  intake        ${url}\n`) && said.includes(`${url}/api\n`), said);
  assert.doesNotMatch(said, /lead_test_|lead_live_|Starting PostgreSQL/);
  assert.equal(await checkKey(url, key), 422, "the first goes on, and its key too");
  first.child.kill("SIGINT");
  assert.equal(await first.ended, 0);
  assert.ok(!existsSync(join(checkout, ".data/running.json")));
});

test("npm start reports all wrong settings and starts nothing", async () => {
  const copy = copyCheckout();
  const started = start(copy, {
    INTAKE_KEY_BURST: "many",
    TRUSTED_PROXIES: "nobody",
    INTAKE_LISTN: "127.0.0.1:1",
  });
  assert.equal(await started.ended, 2);
  assert.match(started.output(), /INTAKE_KEY_BURST/);
  assert.match(started.output(), /TRUSTED_PROXIES/);
  assert.equal(
    started.output().match(/INTAKE_LISTN/g)?.length,
    1,
    "both processes read it, and it is named once",
  );
  assert.ok(!existsSync(join(copy, ".data")));
});

test("a given DATABASE_URL is seeded only while it has no tenant", async () => {
  const database = await createDatabase();
  const copy = copyCheckout();
  const first = start(copy, { DATABASE_URL: database.url });
  const { url, key = "" } = await welcome(first);
  assert.equal(await checkKey(url, key), 422);
  first.child.kill("SIGINT");
  assert.equal(await first.ended, 0);

  const second = start(copy, { DATABASE_URL: database.url });
  const again = await welcome(second);
  assert.equal(again.key, undefined);
  assert.match(again.text, /key issue TENANT --label LABEL/);
  assert.equal(await checkKey(again.url, key), 422, "the key of the first run still works");
  second.child.kill("SIGINT");
  assert.equal(await second.ended, 0);
  assert.ok(!existsSync(join(copy, ".data/postgres")), "no database of its own");
  assert.ok(!existsSync(join(copy, ".data/keys")), "nor keys of somebody's");
  await database.drop();
});

test("after SIGKILL npm start leaves nothing running, and the next one starts on the same data", async () => {
  const killed = start(checkout);
  await welcome(killed);
  const pids = processesOf(killed);
  killed.child.kill("SIGKILL");
  assert.equal(await killed.ended, "SIGKILL");
  const next = start(checkout);
  await welcome(next);
  await allEnd(pids);
  next.child.kill("SIGINT");
  assert.equal(await next.ended, 0);
});

test("when the service, the actions process or PostgreSQL exits, npm start reports it and stops the others", async () => {
  const said: string[] = [];
  // The message names the process that exited.
  for (const victim of [0, 1, "postgres"] as const) {
    const started = start(checkout);
    await welcome(started);
    const pids = processesOf(started);
    const postmaster = Number(
      readFileSync(join(checkout, ".data/postgres/postmaster.pid"), "utf8").split("\n")[0],
    );
    const ours = childrenOf(started.child.pid ?? 0)
      .filter(({ pid, command }) => pid !== postmaster && command !== "sh")
      .map(({ pid }) => pid)
      .sort((a, b) => a - b);
    assert.equal(ours.length, 2);
    process.kill((victim === "postgres" ? postmaster : ours[victim]) ?? 0, "SIGKILL");
    assert.equal(await started.ended, 1);
    said.push(/^(.*) has (?:exited|stopped)\b/m.exec(started.output())?.[1] ?? started.output());
    await allEnd(pids);
  }
  assert.deepEqual(said.sort(), ["PostgreSQL", "The actions process", "The service"]);
});

test("npm start says where the data is when the server's account cannot reach the checkout", async () => {
  const copy = copyCheckout({ hidden: true });
  const started = start(copy);
  const { text, url, key = "" } = await welcome(started);
  assert.equal(await checkKey(url, key), 422);
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
  // An ordinary user's server runs as that user and can read every folder.
  const elsewhere = /its data is in (\S+)$/m.exec(text)?.[1];
  assert.equal(elsewhere !== undefined, process.getuid?.() === 0);
  if (elsewhere !== undefined) spawnSync("rm", ["-rf", "--", elsewhere]);
});
