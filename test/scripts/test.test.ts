/**
 * `npm test` itself, on small test files in a copy of the repository.
 *
 * @module
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { isAlive } from "../../scripts/processes.ts";
import { core, isCore, needs } from "../../scripts/test_plan.ts";
import { type Checkout, copyCheckout } from "../support/scripts/checkout.ts";
import { until } from "../support/until.ts";
import { atEnd } from "../support/at_end.ts";

let checkout: Checkout;
// Without the marks of the test run that this is part of.
const env = { PATH: process.env.PATH };

const toolTests = {
  "http/tls_scan.test.ts": `throw new Error("started");`,
  "ctl/completion.test.ts":
    `import { test } from "node:test"; import { isLeftOut } from "../../scripts/test_plan.ts";
    if (isLeftOut("test/ctl/completion: zsh")) test("without zsh", () => {}); else throw new Error("with zsh");`,
};

before(() => {
  checkout = copyCheckout();
  const folder = join(checkout.folder, "test/lead");
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.test.ts`), text);
  // Two that need tools: one of them sslscan, the other one zsh for a part.
  for (const [path, text] of Object.entries(toolTests)) {
    mkdirSync(join(checkout.folder, "test", path, ".."), { recursive: true });
    writeFileSync(join(checkout.folder, "test", path), text);
  }
  // A machine that has nothing but a shell.
  mkdirSync(join(checkout.folder, "bare"));
  symlinkSync("/bin/sh", join(checkout.folder, "bare/sh"));
  write("good", `import { test } from "node:test"; test("one", () => {}); test("two", () => {});`);
  write("bad", `import { test } from "node:test"; test("bad", () => { throw new Error("no"); });`);
  write("empty", "export {};");
  // It has a child that ends for no signal but SIGKILL, and says who they are.
  write(
    "endless",
    `import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs"; import { test } from "node:test";
    test("endless", async () => {
      const { pid } = spawn("sh", ["-c", "trap : TERM; while :; do sleep 1; done"], { stdio: "inherit" });
      writeFileSync("endless.json", JSON.stringify([process.pid, pid])); await new Promise(() => {}); });`,
  );
});

atEnd(() => checkout.remove());

function run(...args: string[]) {
  return runWith({}, ...args);
}

function runWith(more: Readonly<Record<string, string>>, ...args: string[]) {
  return spawnSync(process.execPath, ["scripts/test.ts", ...args], {
    cwd: checkout.folder,
    env: { ...env, TEST_MS_MAX: "5000", ...more },
    encoding: "utf8",
  });
}

/** The same on a machine without tools. */
const runBare = (more: Readonly<Record<string, string>>, ...args: string[]) =>
  runWith({ PATH: join(checkout.folder, "bare"), ...more }, ...args);

/** The process ids of the endless file and of its child. */
function endless(): number[] {
  return JSON.parse(readFileSync(join(checkout.folder, "endless.json"), "utf8"));
}

test("a failing test fails the run, and what it said stands at the end once more", () => {
  const { status, stdout } = run("good", "bad");
  assert.equal(status, 1);
  assert.match(
    stdout,
    /\nThe slowest files:\n(.*\n)*✖ test\/lead\/bad\.test\.ts: 1 failed\n✖ failing tests:\n(.*\n)* +Error: no\n/,
  );
  assert.match(stdout, /✖ tests .* test\/lead\/bad\.test\.ts: 1 failed\n/);
  assert.match(stdout, /ℹ pass 2\nℹ fail 1\n/);
});

test("a file that never ends is ended with its child and named, and the others run", async () => {
  const { status, stdout } = run("endless", "good");
  assert.equal(status, 1);
  assert.match(
    stdout,
    /✖ tests .* test\/lead\/endless\.test\.ts: ended after 5 s without any progress, no test ran\n/,
  );
  assert.match(stdout, /✔ test\/lead\/good\.test\.ts .* 2 tests\n/);
  await until(() => endless().every((pid) => !isAlive(pid)));
});

test("a test file in which no test ran fails the run", () => {
  const { status, stdout } = run("good", "empty");
  assert.equal(status, 1);
  assert.match(stdout, /test\/lead\/empty\.test\.ts: no test ran/);
});

test("without a tool, what needs it does not run and is listed with its package; all else runs", () => {
  const { status, stdout } = runBare({}, "tls_scan", "completion", "good");
  assert.equal(status, 0, stdout);
  assert.match(
    stdout,
    /Left out, .*:\n(.*\n)* {2}sslscan \(apt-get install sslscan\)\n {6}test\/http\/tls_scan\n {2}zsh \(apt-get install zsh\)\n {6}test\/ctl\/completion: zsh\n/,
  );
  assert.match(stdout, /✔ without zsh/);
  assert.match(stdout, /ℹ files 2\nℹ tests 3\n/);
});

test("in CI, a missing tool that has a package fails the run; one that nothing can install does not", () => {
  const { status, stdout } = runBare({ CI: "true" }, "completion", "good");
  assert.equal(status, 1);
  assert.match(stdout, /✖ zsh \(apt-get install zsh\)/);
  assert.equal(runBare({ CI: "true" }, "good").status, 0);
});

test("each path of the core and of the table of tools is that of a test file; the faults of the promise are core", () => {
  const files = (readdirSync("test", { recursive: true, encoding: "utf8" }))
    .filter((path) => path.endsWith(".test.ts")).map((path) => `test/${path}`);
  const paths = [...core, ...needs.flatMap(({ tests }) => tests.map((name) => name.replace(/:.*/, "")))];
  assert.deepEqual(paths.filter((path) => !files.some((file) => file.startsWith(path))), []);
  assert.ok(isCore("test/faults/server_killed.test.ts"));
  assert.ok(existsSync("test/faults/pooler.test.ts") && !isCore("test/faults/pooler.test.ts"));
});
