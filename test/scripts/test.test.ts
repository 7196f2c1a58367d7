/** `npm test` itself, on small test files in a copy of the repository. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { isAlive } from "../../scripts/processes.ts";
import { copyCheckout } from "../support/scripts/checkout.ts";
import { until } from "../support/until.ts";
import { atEnd } from "../support/at_end.ts";

const checkout = copyCheckout();
atEnd(() => checkout.remove());

const files = {
  "test/tried/good.test.ts":
    `import { test } from "node:test"; test("one", () => {}); test("two", () => {});`,
  "test/tried/bad.test.ts":
    `import { test } from "node:test"; test("bad", () => { throw new Error("no"); });`,
  "test/tried/empty.test.ts": "export {};",
  // It has a child that ends for no signal but SIGKILL, and says who they are.
  "test/tried/endless.test.ts":
    `import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs"; import { test } from "node:test";
    test("endless", async () => {
      const { pid } = spawn("sh", ["-c", "trap : TERM; while :; do sleep 1; done"], { stdio: "inherit" });
      writeFileSync("endless.json", JSON.stringify([process.pid, pid])); await new Promise(() => {}); });`,
  "test/http/tls_scan.test.ts": `throw new Error("started");`,
  "test/ctl/completion.test.ts":
    `import { test } from "node:test"; import { isLeftOut } from "../../scripts/test_plan.ts";
    if (isLeftOut("test/ctl/completion: zsh")) test("without zsh", () => {}); else throw new Error("with zsh");`,
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(checkout.folder, path)), { recursive: true });
  writeFileSync(join(checkout.folder, path), text);
}
// A machine that has nothing but a shell.
mkdirSync(join(checkout.folder, "bare"));
symlinkSync("/bin/sh", join(checkout.folder, "bare/sh"));
const bare = { PATH: join(checkout.folder, "bare") };

/** Without the marks of the test run that this is part of. */
function run(env: Readonly<Record<string, string>>, ...args: string[]) {
  return spawnSync(process.execPath, ["scripts/test.ts", ...args], {
    ...{ cwd: checkout.folder, encoding: "utf8" },
    env: { PATH: process.env.PATH, TEST_MS_MAX: "5000", ...env },
  });
}

test("a file that fails, never ends or has no test fails the run, which names it and ends what it has started", async () => {
  const { status, stdout } = run({}, "test/tried/");
  assert.equal(status, 1);
  assert.match(stdout, /✔ {2}test\/tried\/good\.test\.ts .* 2\n/);
  assert.match(stdout, /\n✖ test\/tried\/bad\.test\.ts: exit code 1\n✖ failing tests:\n(.*\n)* +Error: no\n/);
  assert.match(stdout, /\n✖ test\/tried\/empty\.test\.ts: no test ran\n/);
  assert.match(stdout, /\n✖ test\/tried\/endless\.test\.ts: ended after 5 s without any progress\n/);
  const started: number[] = JSON.parse(readFileSync(join(checkout.folder, "endless.json"), "utf8"));
  await until(() => started.every((pid) => !isAlive(pid)));
});

test("without a tool, what needs it does not run and is listed with its package; in CI that fails the run", () => {
  const names = ["tls_scan", "completion", "good"];
  const { status, stdout } = run(bare, ...names);
  assert.equal(status, 0, stdout);
  assert.match(
    stdout,
    /Left out, .*:\n(.*\n)* {2}sslscan \(apt-get install sslscan\)\n {6}test\/http\/tls_scan\n {2}zsh \(apt-get install zsh\)\n {6}test\/ctl\/completion: zsh\n/,
  );
  assert.match(stdout, /✔ without zsh/);
  assert.match(stdout, /\n2 passed with 3 tests, 0 failed\.\n/);
  assert.equal(run({ CI: "true", ...bare }, ...names).status, 1);
});
