/**
 * `npm test` itself, on small test files in a copy of the repository.
 *
 * @module
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isAlive } from "../../scripts/processes.ts";
import { type Checkout, copyCheckout } from "../support/scripts/checkout.ts";
import { until } from "../support/until.ts";

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
  write(
    "endless",
    `import { test } from "node:test"; test("endless", async () => {
    console.log("pid", process.pid); setInterval(() => {}, 1000); await new Promise(() => {}); });`,
  );
});

after(() => checkout.remove());

function run(...args: string[]) {
  return spawnSync(process.execPath, ["scripts/test.ts", ...args], {
    cwd: checkout.folder,
    env,
    encoding: "utf8",
  });
}

test("npm test with a path runs the files that have it, and ends with the counts", () => {
  const { status, stdout } = run("good");
  assert.equal(status, 0, stdout);
  assert.match(stdout, /✔ tests .* 2 tests\n/);
  assert.match(stdout, /ℹ files 1\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\n/);
});

test("a failing test fails the run", () => {
  const { status, stdout } = run("good", "bad");
  assert.equal(status, 1);
  assert.match(stdout, /✖ tests .* exit code 1\n/);
  assert.match(stdout, /ℹ pass 2\nℹ fail 1\n/);
});

test("a test file in which no test ran fails the run", () => {
  const { status, stdout } = run("good", "empty");
  assert.equal(status, 1);
  assert.match(stdout, /no test ran in test\/lead\/empty\.test\.ts/);
});

test("a name that nothing has is wrong usage", () => {
  const { status, stderr } = run("nosuchfile");
  assert.equal(status, 2);
  assert.match(stderr, /nosuchfile/);
});

test("Ctrl-C ends the tests under way", async () => {
  const child = spawn(process.execPath, ["scripts/test.ts", "endless"], {
    cwd: checkout.folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => output += text);
  const pid = Number((await until(() => /pid (\d+)/.exec(output), { deadlineMs: 30_000 }))[1]);
  const ended = new Promise((settle) => child.once("close", settle));
  child.kill("SIGINT");
  assert.equal(await ended, 130);
  await until(() => !isAlive(pid));
});
