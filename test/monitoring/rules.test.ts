import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { alerts } from "../../scripts/monitoring/alerts.ts";
import { runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type Interval, promtoolTests } from "../support/monitoring/cases.ts";

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const folder = temporaryFolder("rules");
const runbook = readFileSync(path("docs/runbook.md"), "utf8");
const paragraphs = new Map(
  runbook.split(/^## /m).slice(1).map((text) => [text.slice(0, text.indexOf("\n")), text] as const),
);
const commands = [...runbook.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text.replaceAll("\n", " "));

function passes(program: string, ...args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  assert.equal(error, undefined, `${program} is there (apt-get install prometheus prometheus-alertmanager)`);
  assert.equal(status, 0, stdout + stderr);
}

test("promtool and amtool have nothing to say of the rules and of the samples for Prometheus and Alertmanager", () => {
  passes("promtool", "check", "rules", path("scripts/monitoring/rules.yml"));
  passes("promtool", "check", "config", path("scripts/monitoring/prometheus.yml"));
  passes("amtool", "check-config", path("scripts/monitoring/alertmanager.yml"));
});

for (const interval of ["1m", "1h"] satisfies Interval[]) {
  test(`every alert fires when it should, and not just below or too early, looked at every ${interval}`, () => {
    const files = promtoolTests(readFileSync(path("scripts/monitoring/rules.yml"), "utf8"), interval);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const tests = Object.keys(files).filter((name) => name.endsWith(".json"));
    passes("promtool", "test", "rules", ...tests.map((name) => join(folder, name)));
  });
}

test("Alertmanager's sample keeps quiet about known alerts only, and calls the night for a page alone", () => {
  const sample = path("scripts/monitoring/alertmanager.yml");
  const text = readFileSync(sample, "utf8");
  const named = [...text.matchAll(/alertname=~?"([^"]+)"/g)].flatMap(([, names = ""]) => names.split("|"));
  assert.deepEqual(named.filter((name) => !(name in alerts)), []);
  for (const [severity, receiver] of [["page", "night"], ["ticket", "tickets"]]) {
    const { stdout } = spawnSync("amtool", [
      ...["config", "routes", "test", `--config.file=${sample}`, `severity=${severity}`],
    ], { encoding: "utf8" });
    assert.equal(stdout.trim(), receiver);
  }
});

test("every alert has a paragraph in the runbook, and every paragraph an alert", () => {
  assert.deepEqual([...paragraphs.keys()].sort(), Object.keys(alerts).sort());
  for (const [name, text] of paragraphs) {
    for (const part of ["**Means**:", "Look", "Do", "Escalate", "Not:"]) {
      // One that only points to another paragraph has what is in that one.
      assert.ok(text.toLowerCase().includes(part.toLowerCase()), `${name}: ${part}`);
    }
    assert.match(text, /^_(Not rehearsed|Rehearsed)[^_]*_$/m, name);
    assert.ok(text.length < 1_900, `${name} is too long for a phone: ${text.length}`);
  }
});

test("the runbook calls those alerts rehearsed that a test rehearses", () => {
  const tests = readdirSync(path("test/monitoring")).filter((name) => name.startsWith("runbook"))
    .map((name) => readFileSync(path(`test/monitoring/${name}`), "utf8")).join("");
  for (const [name, text] of paragraphs) {
    assert.equal(/^_Rehearsed/m.test(text), new RegExp(`\\b${name}\\b`).test(tests), name);
  }
});

test("the commands of ctl in the runbook are commands of ctl, and its SQL is SQL", async () => {
  const { databaseUrl, sql } = await openStore();
  const lines = [...new Set(commands.filter((text) => text.startsWith("sudo lead-ctl ")))];
  assert.ok(lines.length > 15);
  const numbers: Readonly<Record<string, string>> = {
    KEY_ID: "1",
    COLLISION_ID: "1",
    ADDRESS: "a@example.com",
  };
  for (const line of lines.filter((line) => !/certificates|--test/.test(line))) {
    const args = line.split(" ").slice(2).map((word) =>
      /^[A-Z_]+$/.test(word) ? numbers[word] ?? word.toLowerCase() : word
    );
    const { code, stderr } = await runCtl(args, { databaseUrl });
    assert.ok(code === 0 || code === 1, `${line}: ${stderr}`);
    assert.doesNotMatch(stderr, /usage/i, line);
  }
  const statements = [
    ...new Set(commands.flatMap((text) => /psql lead_intake -c "(.*)"$/.exec(text)?.[1] ?? [])),
  ];
  assert.ok(statements.length > 6);
  // Not run: one of them ends what is idle, and other tests are.
  for (const statement of statements) await sql.unsafe(`explain ${statement.replace("(PID)", "(1)")}`);
});
