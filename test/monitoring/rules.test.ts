import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Metric, type MetricName, metrics } from "../../src/observe/metrics.ts";
import { temporaryFolder } from "../support/folder.ts";
import { runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const read = (name: string) => readFileSync(path(name), "utf8");
const rules = read("scripts/monitoring/rules.yml");
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
const dashboard: readonly { readonly targets?: readonly { readonly expr: string }[] }[] = JSON.parse(
  read("scripts/monitoring/dashboard.json"),
).panels;
const queries = dashboard.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const runbook = read("docs/runbook.md");

function passes(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  assert.equal(error, undefined, `${program} is there (apt-get install prometheus prometheus-alertmanager)`);
  assert.equal(status, 0, stdout + stderr);
  return stdout.trim();
}

test("promtool and amtool accept the rules, the samples and the dashboard's queries", () => {
  passes("promtool", "check", "rules", path("scripts/monitoring/rules.yml"));
  passes("promtool", "check", "config", path("scripts/monitoring/prometheus.yml"));
  passes("amtool", "check-config", path("scripts/monitoring/alertmanager.yml"));
  const filled = queries.map((expr) => ({
    record: "dashboard:query",
    expr: expr.replaceAll("$__rate_interval", "1m"),
  }));
  const file = join(temporaryFolder("rules"), "dashboard.json");
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules: filled }] }));
  passes("promtool", "check", "rules", file);
});

test("every alert fires just above its threshold and not at it", () => {
  passes("promtool", "test", "rules", path("test/monitoring/rules_test.yml"));
});

test("the alerts and the dashboard use only existing metrics and labels", () => {
  const told = new Set(Object.keys(metrics));
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
  const expressions = [rules.replaceAll(/^ +(summary|description|runbook_url):.*$/gm, ""), ...queries].join(
    "\n",
  );
  const named = expressions.match(/\b(?:lead|http|process)_[a-z_]+\b/g) ?? [];
  assert.ok(named.length > 100);
  assert.deepEqual(named.filter((name) => !told.has(name) && !told.has(base(name))), []);
  for (const [, name = "", matchers = ""] of expressions.matchAll(/\b((?:lead|http)_[a-z_]+)\{([^}]*)\}/g)) {
    const { labels }: Metric = metrics[(told.has(name) ? name : base(name)) as MetricName];
    for (const [, label = ""] of matchers.matchAll(/(\w+)(?==~?"|!)/g)) {
      assert.ok([...labels, "job", "instance"].includes(label), `${name}: ${label}`);
    }
  }
});

test("Alertmanager's sample inhibits only existing alerts and pages only for severity page", () => {
  const sample = read("scripts/monitoring/alertmanager.yml");
  const named = [...sample.matchAll(/alertname=~?"([^"]+)"/g)].flatMap(([, names = ""]) => names.split("|"));
  assert.deepEqual(named.filter((name) => !alerts.includes(name)), []);
  const file = `--config.file=${path("scripts/monitoring/alertmanager.yml")}`;
  assert.equal(passes("amtool", "config", "routes", "test", file, "severity=page"), "night");
  assert.equal(passes("amtool", "config", "routes", "test", file, "severity=ticket"), "tickets");
});

test("every alert links to its runbook section, and every section has an alert", () => {
  const sections = [...runbook.matchAll(/^## (.*)$/gm)].map(([, name = ""]) => name);
  assert.deepEqual(sections.toSorted(), alerts.toSorted());
  const links = [...rules.matchAll(/runbook\.md#(\w+)/g)].map(([, name]) => name);
  assert.deepEqual(links, alerts.map((name) => name.toLowerCase()));
});

test("the runbook's ctl commands parse and its SQL runs", async () => {
  const { databaseUrl, sql } = await openStore();
  const commands = [...runbook.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text.replaceAll("\n", " "));
  const lines = new Set(commands.filter((text) => text.startsWith("sudo lead-ctl ")));
  assert.ok(lines.size > 15);
  const values: Readonly<Record<string, string>> = {
    KEY_ID: "1",
    COLLISION_ID: "1",
    EVENT_ID: "0".repeat(38),
    SUBMISSION_ID: "0".repeat(38),
    ADDRESS: "a@example.com",
  };
  for (const line of lines) {
    if (/certificates|--test/.test(line)) continue;
    const args = line.split(" ").slice(2).map((word) =>
      /^[A-Z_]+$/.test(word) ? values[word] ?? word.toLowerCase() : word
    );
    const { code, stderr } = await runCtl(args, { databaseUrl });
    assert.ok(code === 0 || code === 1, `${line}: ${stderr}`);
    assert.doesNotMatch(stderr, /usage/i, line);
  }
  const statements = new Set(commands.flatMap((text) => /psql lead_intake -c "(.*)"$/.exec(text)?.[1] ?? []));
  assert.ok(statements.size > 6);
  // Explained instead of run, because one of them ends other tests' sessions.
  for (const statement of statements) await sql.unsafe(`explain ${statement}`);
});
