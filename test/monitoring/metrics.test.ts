import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { actionsMetrics, type Metric, processMetrics, serviceMetrics } from "../../src/observe/metrics.ts";
import { atEnd } from "../support/at_end.ts";
import { get } from "../support/client.ts";
import { actionsFixture } from "../support/faults/delivery_fixture.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";
import { lead } from "../support/test_env.ts";

const fixture = await actionsFixture({ actionsEnv: { ACTIONS_OPS_LISTEN: "127.0.0.1:0" } });
const backups = temporaryFolder("backups");
const runtime = temporaryFolder("runtime");
for (const file of [join(backups, "stamp"), join(backups, "verified")]) writeFileSync(file, "");
writeFileSync(join(runtime, "failures"), "exit-code\nwatchdog\n");
const server = await fixture.start({ OPS_BACKUP_MARKS_DIR: backups, RUNTIME_DIRECTORY: runtime });
atEnd(() => server.kill());

const tell = async (url: string) => (await get(`${url}/metrics`, { localAddress: "127.0.0.1" })).text;
const ops = server.urls.ops as string;
const actionsUrl = String(fixture.actions.logs.find(({ surface }) => surface === "ops")?.url);

test("every documented metric is exported by the process it names, with its kind and labels, and no other metric is", async () => {
  await fixture.tier.down();
  const key = await fixture.routed();
  // A busy machine may answer 503 just after a start.
  await until(async () =>
    (await fixture.testEnv.intake({ key: key.text, body: lead() }, server)).status === 202
  );
  await until(async () => /lead_tier_failures_total\{cause="refused"\} [1-9]/.test(await tell(ops)));
  await fixture.tier.up();
  await until(async () =>
    /lead_effects_total\{kind="email",outcome="done"\} [1-9]/.test(await tell(actionsUrl))
  );
  await until(async () => /^lead_database_size_bytes/m.test(await tell(ops)));
  for (const [url, own] of [[ops, serviceMetrics], [actionsUrl, actionsMetrics]] as const) {
    const text = await tell(url);
    const expected = Object.entries<Metric>({ ...processMetrics, ...own });
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
    assert.deepEqual(types.sort(), expected.map(([name, { kind }]) => `${name} ${kind}`).sort());
    for (const [name, { labels, kind }] of expected) {
      const suffix = kind === "histogram" ? "_sum" : "";
      for (const [, found = ""] of text.matchAll(new RegExp(`^${name}${suffix}(?:\\{(.*)\\})? `, "gm"))) {
        assert.deepEqual([...found.matchAll(/(\w+)="/g)].map(([, label]) => label), labels, name);
      }
    }
  }
});

test("the metrics report the previous exit, the last successful backup and the current timeline", async () => {
  await until(async () => /^lead_database_timeline 1$/m.test(await tell(ops)));
  const text = await tell(ops);
  assert.deepEqual(text.match(/^lead_last_failure\{.*/gm), ['lead_last_failure{result="watchdog"} 1']);
  for (const [what, file] of [["backup", "stamp"], ["check", "verified"]] as const) {
    const at = new RegExp(`^lead_backup_timestamp_seconds\\{what="${what}"\\} (.*)$`, "m").exec(text)?.[1];
    assert.equal(Number(at), statSync(join(backups, file)).mtimeMs / 1_000);
  }
});
