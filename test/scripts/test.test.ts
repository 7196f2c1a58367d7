/**
 * `npm test` itself, on small test files in a copy of the repository.
 *
 * @module
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { isAlive } from "../../scripts/processes.ts";
import { type Checkout, copyCheckout } from "../support/scripts/checkout.ts";
import { until } from "../support/until.ts";
import { atEnd } from "../support/at_end.ts";

let checkout: Checkout;
// Without the marks of the test run that this is part of.
const env = { PATH: process.env.PATH };

before(() => {
  checkout = copyCheckout();
  const folder = join(checkout.folder, "test/lead");
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.test.ts`), text);
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
  write(
    "hook",
    `import { after, test } from "node:test"; after(() => { throw new Error("left"); }); test("hook", () => {});`,
  );
});

atEnd(() => checkout.remove());

function run(...args: string[]) {
  return spawnSync(process.execPath, ["scripts/test.ts", ...args], {
    cwd: checkout.folder,
    env: { ...env, TEST_MS_MAX: "5000" },
    encoding: "utf8",
  });
}

/** The process ids of the endless file and of its child. */
function endless(): number[] {
  return JSON.parse(readFileSync(join(checkout.folder, "endless.json"), "utf8"));
}

test("npm test with a path runs the files that have it, and ends with the counts", () => {
  const { status, stdout } = run("good");
  assert.equal(status, 0, stdout);
  assert.match(stdout, /✔ tests .* 2 tests\n/);
  assert.match(stdout, /The slowest files:\n\s+\d+\.\d s\s+test\/lead\/good\.test\.ts\n/);
  assert.match(stdout, /ℹ files 1\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\n/);
});

test("a failing test fails the run", () => {
  const { status, stdout } = run("good", "bad");
  assert.equal(status, 1);
  assert.match(stdout, /✖ tests .* test\/lead\/bad\.test\.ts: 1 failed\n/);
  assert.match(stdout, /ℹ pass 2\nℹ fail 1\n/);
});

test("a hook that fails after all tests fails the run", () => {
  const { status, stdout } = run("hook");
  assert.equal(status, 1);
  assert.match(stdout, /✖ tests .* test\/lead\/hook\.test\.ts: 1 failed\n/);
});

test("a file that never ends is ended with its child and named, and the others run", async () => {
  const { status, stdout } = run("endless", "good");
  assert.equal(status, 1);
  assert.match(
    stdout,
    /✖ tests .* test\/lead\/endless\.test\.ts: ended after 5 s without any progress, unfinished: endless, no test ran\n/,
  );
  assert.match(stdout, /✔ test\/lead\/good\.test\.ts .* 2 tests\n/);
  await until(() => endless().every((pid) => !isAlive(pid)));
});

test("a test file in which no test ran fails the run", () => {
  const { status, stdout } = run("good", "empty");
  assert.equal(status, 1);
  assert.match(stdout, /test\/lead\/empty\.test\.ts: no test ran/);
});

test("a name that nothing has is wrong usage", () => {
  const { status, stderr } = run("nosuchfile");
  assert.equal(status, 2);
  assert.match(stderr, /nosuchfile/);
});

test("Ctrl-C ends the tests under way, and what they have started", async () => {
  rmSync(join(checkout.folder, "endless.json"), { force: true });
  const child = spawn(process.execPath, ["scripts/test.ts", "endless"], {
    cwd: checkout.folder,
    env,
    stdio: "ignore",
  });
  const ended = new Promise((settle) => child.once("close", settle));
  await until(endless);
  child.kill("SIGINT");
  assert.equal(await ended, 130);
  await until(() => endless().every((pid) => !isAlive(pid)));
});
