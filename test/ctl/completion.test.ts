import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { isLeftOut } from "../../scripts/test_plan.ts";
import { inherited } from "../support/environment.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl, runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const { databaseUrl } = await openStore();
const on = { databaseUrl };
const folder = temporaryFolder("ctl-completion");
const script = { bash: join(folder, "ctl.bash"), zsh: join(folder, "ctl.zsh") };

before(async () => {
  for (const [shell, file] of Object.entries(script)) {
    const { code, stdout, stderr } = await runCtl(["completion", shell], on);
    assert.deepEqual([code, stderr], [0, ""]);
    writeFileSync(file, stdout);
  }
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "globex"], on);
});

/** What bash would offer for the last word of a line. */
function complete(line: string, cwd = folder): string[] {
  const words = line.split(" ");
  const { status, stdout, stderr } = spawnSync(
    "bash",
    [
      ...["--norc", "--noprofile", "-uc"],
      `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ctl; printf '%s\n' "\${COMPREPLY[@]}"`,
      ...["bash", script.bash, ...words],
    ],
    { encoding: "utf8", cwd, env: { ...inherited, DATABASE_URL: databaseUrl } },
  );
  assert.deepEqual([status, stderr], [0, ""], line);
  return stdout.split("\n").filter((word) => word !== "");
}

const cases: readonly (readonly [string, readonly string[]])[] = [
  ["ctl ten", ["tenant"]],
  ["ctl d", ["dead", "doctor"]],
  ["ctl key ", ["issue", "list", "revoke", "limit"]],
  ["ctl key re", ["revoke"]],
  ["ctl --json key li", ["list", "limit"]],
  ["ctl key issue --s", ["--surface"]],
  ["ctl key issue acme --surface ", ["intake", "forms"]],
  ["ctl key issue acme --label tenant --ca", ["--campaign"]],
  ["ctl doctor --", ["--settings", "--backup-stamp", "--json", "--help"]],
  ["ctl tenant set acme --digest ", ["off"]],
  ["ctl completion ", ["bash", "zsh"]],
  ["ctl nonsense ", []],
  ["ctl tenant add ", []],
];

for (const [line, words] of cases) {
  test(`bash completes "${line}" with ${words.join(", ") || "nothing"}`, () => {
    assert.deepEqual(complete(line), words);
  });
}

test("the script offers every noun and no other, and every option of every command", async () => {
  const { stdout } = await runCtl(["--help"], on);
  const shown = [...stdout.matchAll(/^ {2}ctl (\S+)/gm)].map(([, noun]) => noun);
  assert.deepEqual(complete("ctl "), [...new Set(shown)]);
  const help = await runCtl(["tenant", "route", "--help"], on);
  const options = [...help.stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option);
  assert.ok(options.length > 5);
  assert.deepEqual(complete("ctl tenant route acme --").sort(), [...options].sort());
});

test("tenants are completed by asking ctl, and where the database is away nothing is", () => {
  const asked = (line: string, env: Readonly<Record<string, string>>) =>
    spawnSync(
      "bash",
      // The machine may be busy with other tests: however long it takes.
      [
        "-c",
        `source "$1"; shift; timeout() { shift; "$@"; }; _ctl_candidates "$@"`,
        "bash",
        script.bash,
        ...line.split(" "),
      ],
      { encoding: "utf8", env: { ...inherited, DATABASE_URL: databaseUrl, ...env } },
    ).stdout.split("\n").filter((word) => word !== "");
  // The word that is being typed stands first.
  for (
    const line of ["a tenant disable", "a key issue", "a lead list --tenant", "a form add", "a tenant route"]
  ) {
    assert.deepEqual(asked(line, {}), ["acme", "globex"], line);
  }
  assert.deepEqual(asked("a key issue", { DATABASE_URL: "postgres://127.0.0.1:1/nowhere" }), []);
});

if (!isLeftOut("test/ctl/completion: zsh")) {
  test("zsh offers the same", () => {
    for (const [line, words] of cases) {
      const { stdout, stderr } = spawnSync(
        "zsh",
        [
          "-fc",
          `compdef() { : }; source "$1"; shift; words=("$@"); CURRENT=$#
        compadd() { print -rl -- "\${(@P)2}" }; _files() { print files }; _ctl`,
          ...["zsh", script.zsh, ...line.split(" ")],
        ],
        { encoding: "utf8", env: { ...inherited, DATABASE_URL: databaseUrl } },
      );
      const typed = line.split(" ").at(-1) ?? "";
      const offered = stdout.split("\n").filter((word) => word !== "" && word.startsWith(typed));
      assert.deepEqual([stderr, offered], ["", [...words]], line);
    }
  });
}
