import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { alerts } from "../../scripts/monitoring/alerts.ts";
import { targetsOf } from "../../scripts/monitoring/dashboard.ts";
import { rows } from "../../scripts/monitoring/panels.ts";
import { type Metric, type MetricName, metrics } from "../../src/observe/metrics.ts";
import { get } from "../support/client.ts";
import { temporaryFolder } from "../support/folder.ts";
import { monitoredStand } from "../support/monitoring/stand.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, visitor } from "../support/world.ts";

const { stand, prometheus, start } = await monitoredStand();
const { world } = stand;
// As the owner, the service may know where the database's disk is.
const backups = temporaryFolder("backups");
const runtime = temporaryFolder("runtime");
for (const file of [join(backups, "stamp"), join(backups, "verified")]) writeFileSync(file, "");
writeFileSync(join(runtime, "failures"), "exit-code\nwatchdog\n");
const server = await start({
  ...{ DATABASE_URL: stand.databaseUrl, OPS_BACKUP_MARKS_DIR: backups, RUNTIME_DIRECTORY: runtime },
});
world.expectLogged("runs_as_owner");

const panels = Object.values(rows).flat();
/** Of what a machine like this one has nothing. */
const absent = new Set<MetricName>([
  "lead_database_replay_lag_bytes",
  "lead_database_archived_timestamp_seconds",
  "lead_database_archive_failed_timestamp_seconds",
  "process_memory_limit_bytes",
]);

/** Something of everything: accepted, repeated, refused for each reason, held, delivered, failed. */
async function traffic(): Promise<void> {
  const key = await stand.routed();
  const { form, key: formKey } = await world.formWithKey();
  const repeated = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  for (
    const options of [repeated, repeated, { key: key.text, body: { first_name: "Ada" } }, {
      key: "wrong",
      body: lead(),
    }]
  ) {
    // A busy machine may answer 503, just after a start above all.
    await until(async () => (await world.intake(options)).status !== 503);
  }
  const submission = { key: formKey.text, body: visitor() };
  await until(async () => (await world.submit(form, submission)).status !== 503);
}

test("every metric of the table is told, by the process that it names, with its kind and labels, and no other", async () => {
  await stand.tier.down();
  const tell = async (url: string) => (await get(`${url}/metrics`, { localAddress: "127.0.0.1" })).text;
  await traffic();
  await until(async () =>
    /lead_tier_failures_total\{cause="refused"\} [1-9]/.test(await tell(server.urls.ops as string))
  );
  await stand.tier.up();
  const actionsUrl = String(stand.actions.logs.find(({ surface }) => surface === "ops")?.url);
  await until(async () =>
    /lead_effects_total\{kind="email",outcome="done"\} [1-9]/.test(await tell(actionsUrl))
  );
  await until(async () => /^lead_database_size_bytes/m.test(await tell(server.urls.ops as string)));
  for (const [teller, url] of [["service", server.urls.ops as string], ["actions", actionsUrl]] as const) {
    const text = await tell(url);
    const expected = Object.entries<Metric>(metrics).filter(([, { of }]) => of === "both" || of === teller);
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
    assert.deepEqual(types.sort(), expected.map(([name, { kind }]) => `${name} ${kind}`).sort(), teller);
    for (const [name, { labels = [], kind }] of expected) {
      const suffix = kind === "histogram" ? "_sum" : "";
      for (const [, found = ""] of text.matchAll(new RegExp(`^${name}${suffix}(?:\\{(.*)\\})? `, "gm"))) {
        assert.deepEqual([...found.matchAll(/(\w+)="/g)].map(([, label]) => label), labels, name);
      }
    }
  }
});

test("how the process before failed, when backups succeeded and which timeline is written are told", async () => {
  const tell = async () => (await get(`${server.urls.ops}/metrics`, { localAddress: "127.0.0.1" })).text;
  await until(async () => /^lead_database_timeline 1$/m.test(await tell()));
  const text = await tell();
  assert.deepEqual(text.match(/^lead_last_failure\{.*/gm), ['lead_last_failure{result="watchdog"} 1']);
  for (const [what, file] of [["backup", "stamp"], ["check", "verified"]] as const) {
    const at = new RegExp(`^lead_backup_timestamp_seconds\\{what="${what}"\\} (.*)$`, "m").exec(text)?.[1];
    assert.equal(Number(at), statSync(join(backups, file)).mtimeMs / 1_000);
  }
});

test("the alerts and their sums name metrics of the table only, with labels that these have", async () => {
  const told = new Set(Object.keys(metrics));
  const expressions = Object.values(alerts).map(({ expr }) => expr).join("\n");
  const named = expressions.match(/\b(?:lead|http|process)_[a-z_]+\b/g) ?? [];
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
  assert.deepEqual(named.filter((name) => !told.has(name) && !told.has(base(name))), []);
  for (const [, name = "", matchers = ""] of expressions.matchAll(/\b((?:lead|http)_[a-z_]+)\{([^}]*)\}/g)) {
    const { labels = [] }: Metric = metrics[base(name) as MetricName];
    for (const [, label = ""] of matchers.matchAll(/(\w+)(?==|!)/g)) {
      assert.ok(labels.includes(label), `${name}: ${label}`);
    }
  }
  for (const { expr } of Object.values(alerts)) await prometheus.query(expr);
});

test("every question of the dashboard finds something in a real Prometheus", async () => {
  await traffic();
  const filled = (expr: string) =>
    expr.replaceAll("$job", ".*").replaceAll("$instance", ".*").replaceAll("$__rate_interval", "1m");
  for (const { title, queries } of panels) {
    for (const query of queries) {
      for (const { expr } of targetsOf(query)) {
        if (absent.has(query.metric)) {
          await prometheus.query(filled(expr));
          continue;
        }
        // A counter of what never happened has no series: the question is right, and finds nothing.
        if (query.metric === "lead_job_failures_total") continue;
        await until(async () => (await prometheus.query(filled(expr))).length > 0, {
          what: `${title}: ${expr}`,
        });
      }
    }
  }
});

test("the dashboard has what Grafana asks for: ids and places of their own, a source to choose, a unit for each", () => {
  const path = fileURLToPath(new URL("../../scripts/monitoring/dashboard.json", import.meta.url));
  const { panels: drawn, templating, schemaVersion, uid } = JSON.parse(readFileSync(path, "utf8"));
  assert.deepEqual([typeof schemaVersion, typeof uid], ["number", "string"]);
  assert.deepEqual(templating.list.map(({ name }: { name: string }) => name), [
    "datasource",
    "job",
    "instance",
  ]);
  const ids = drawn.map(({ id }: { id: number }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const taken = new Set<string>();
  for (const { type, title, gridPos: { x, y, w, h }, fieldConfig, targets, datasource } of drawn) {
    for (let column = x; column < x + w; column += 1) {
      for (let line = y; line < y + h; line += 1) {
        assert.ok(column < 24 && !taken.has(`${column} ${line}`), `${title} stands on another`);
        taken.add(`${column} ${line}`);
      }
    }
    if (type === "row") continue;
    assert.ok(["stat", "timeseries"].includes(type));
    assert.equal(datasource.uid, "${datasource}");
    assert.match(fieldConfig.defaults.unit, /^(s|bytes|Bps|percentunit|short|bool_yes_no|suffix: .*\/s)$/);
    assert.equal(fieldConfig.defaults.thresholds.steps[0].value, null, "the first step has no value");
    assert.equal(new Set(targets.map(({ refId }: { refId: string }) => refId)).size, targets.length);
  }
});

test("each threshold of a picture stands in the alert that it names, and each metric has a picture or an alert", () => {
  for (const { title, threshold } of panels) {
    if (threshold === undefined) continue;
    const numbers = (alerts[threshold.of].expr.match(/[<>=] [\d.]+(?: [*^] [\d^.]+)*/g) ?? [])
      .map((text) => Number(eval(text.replace(/^[<>=]+ /, "").replaceAll("^", "**"))));
    assert.ok(
      numbers.includes(threshold.at),
      `${title}: ${threshold.at} is not in ${threshold.of}: ${numbers}`,
    );
  }
  const shown = new Set(panels.flatMap(({ queries }) => queries.map(({ metric }) => metric as string)));
  const expressions = Object.values(alerts).map(({ expr }) => expr).join("\n");
  const unseen = Object.keys(metrics).filter((name) => !shown.has(name) && !expressions.includes(name));
  assert.deepEqual(unseen, [
    "http_response_body_bytes_total",
    "http_requests_aborted_total",
    "lead_tier_last_answer_age_seconds",
  ]);
});
