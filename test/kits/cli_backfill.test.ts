import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { collect } from "../support/output.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { kits, runIn } from "../support/kits/kit.ts";
import { temporaryFolder } from "../support/folder.ts";

const kit = kits.find(({ id }) => id === "cli");
assert.ok(kit);

const leads = Number(process.env.BACKFILL_LEADS ?? 20_000);
/** Above the service's throughput, so that the rate is not the limit. */
const rate = "50000";
/** The posts in flight and the outcomes not yet in the journal when `leads` is killed. */
const unwritten = { inFlight: 32, waiting: 256 };

const folder = temporaryFolder("cli-backfill");
const input = join(folder, "leads.csv");
const journal = `${input}.journal`;

test(`a backfill of ${leads} leads, killed three times, ends with each of them accepted once`, async () => {
  await runIn(kit.folder, `go build -buildvcs=false -o "${folder}/leads" ./cmd/leads`, { CGO_ENABLED: "0" });
  const testEnv = await TestEnv.open();
  const service = await testEnv.start();
  const key = await testEnv.issue({ tenant: await testEnv.tenant({ sandbox: true }) });
  writeFileSync(input, csv());
  const backfill = () => start({ LEADS_BASE_URL: service.url, LEADS_API_KEY: key.text });

  for (const share of [0.2, 0.45, 0.7]) {
    const run = backfill();
    // An entry has about 90 bytes.
    const bytes = leads * share * 90;
    await until(() => run.child.exitCode !== null || existsSync(journal) && statSync(journal).size >= bytes, {
      what: `the journal has ${bytes} bytes`,
      deadlineMs: 300_000,
    });
    assert.equal(run.child.exitCode, null, run.both());
    run.child.kill("SIGKILL");
    assert.equal(await run.ended, "SIGKILL");
  }
  const last = backfill();
  assert.equal(await last.ended, 0, last.both());

  const summary = JSON.parse(last.both());
  assert.equal(summary.rows, leads);
  assert.equal(summary.refused, 0);
  assert.equal(summary.accepted + summary.duplicate, leads);
  const doubled = 3 * (unwritten.inFlight + unwritten.waiting);
  assert.ok(summary.duplicate <= doubled, `${summary.duplicate} leads were posted again`);
  assert.ok(!last.both().includes(key.text), "the key is not printed");

  const [stored] = await testEnv.sql<Record<string, number>[]>`
    select count(*)::int as events, count(distinct idempotency_key)::int as keys,
      (select count(*)::int from generate_series(1, ${leads}) as n
        where not exists (select from event where idempotency_key = 'backfill:' || n)) as missing
    from event`;
  assert.deepEqual({ ...stored }, { events: leads, keys: leads, missing: 0 });
  assert.equal(await journalRows(), leads, "each row is in the journal once");

  const again = backfill();
  assert.equal(await again.ended, 0, again.both());
  assert.equal(JSON.parse(again.both()).settled_before, leads, "nothing is left to post");
});

function csv(): string {
  const rows = Array.from(
    { length: leads },
    (_, n) => `${n + 1},Ada,Lovelace ${n + 1},"(555) 123-4567",12.50`,
  );
  return `id,first_name,last_name,phone,cost\n${rows.join("\n")}\n`;
}

function start(env: Readonly<Record<string, string>>) {
  const child = spawn(join(folder, "leads"), [
    "post",
    "--csv",
    input,
    "--namespace",
    "backfill",
    "--id-field",
    "id",
    "--map",
    "id=external_id",
    "--json",
    "--rate",
    rate,
    "--concurrency",
    String(unwritten.inFlight),
  ], { env, stdio: ["ignore", "pipe", "pipe"] });
  return { child, ...collect(child) };
}

/** Returns the number of rows in the journal, each unique. */
async function journalRows(): Promise<number> {
  const rows = new Set<number>();
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(journal) })) {
    lines += 1;
    if (lines > 1) rows.add(JSON.parse(line).row);
  }
  assert.equal(rows.size, lines - 1);
  return rows.size;
}
