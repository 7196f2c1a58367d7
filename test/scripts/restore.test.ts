/**
 * The restore drill: PostgreSQL 15 with pgBackRest backups is destroyed and restored to a second before a mistake,
 * and delivery continues. `DRILL_LEADS=1000` runs it with more leads and prints the times.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { type ActionsFixture, actionsFixture } from "../support/faults/delivery_fixture.ts";
import { type BackedUpCluster, bytesOf, must, startBackedUpCluster } from "../support/backup/cluster.ts";
import { createDatabaseOn, withSql } from "../support/database.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

const leads = Number(process.env.DRILL_LEADS ?? 40);
const deadlineMs = 60_000 + leads * 100;

/** The second tenant's CRM, which refuses until told otherwise. */
const stubborn = { path: "/stubborn", opened: false };

async function open() {
  const cluster = startBackedUpCluster();
  const { url: databaseUrl } = await createDatabaseOn(cluster.url("postgres"));
  const fixture = await actionsFixture({ databaseUrl });
  for (const event of ["totals_kept", "commit_warning"]) fixture.testEnv.expectLogged(event);
  fixture.crm.answer = (response, { url }) => {
    response.writeHead(url === stubborn.path && !stubborn.opened ? 503 : 204).end();
  };
  return { cluster, databaseUrl, fixture };
}

const lead = (name: string) => ({
  first_name: name,
  last_name: "Lovelace",
  phone: "5551234567",
  email: `${name}@example.net`,
});

async function posted(fixture: ActionsFixture, key: string, name: string): Promise<string> {
  const { status, json } = await fixture.testEnv.intake({
    key,
    headers: { "Idempotency-Key": `restore:${name}` },
    body: lead(name),
  });
  assert.equal(status, 202);
  return json.event_id;
}

/** The webhooks and emails per event that the customers have received. */
function received({ crm, smtp }: ActionsFixture): (eventId: string) => readonly [number, number] {
  const counted = (ids: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  };
  const webhooks = counted(crm.calls.map(({ headers }) => String(headers["webhook-id"])));
  const mails = counted(
    smtp.messages.map((message) => /[0-9a-f]{38}/.exec(JSON.stringify(message))?.[0] ?? ""),
  );
  return (eventId) => [webhooks.get(eventId) ?? 0, mails.get(eventId) ?? 0];
}

const settled = (databaseUrl: string, eventIds: readonly string[]) =>
  withSql(databaseUrl, async (sql) => {
    const rows = await sql`select event_id from outbox where event_id = any (${[...eventIds]}::text[])`;
    return rows.length === 0;
  });

/** Waits until everything so far is archived. */
async function archived(cluster: BackedUpCluster): Promise<void> {
  await withSql(cluster.url("postgres"), async (sql) => {
    const [{ name }] = await sql<[{ name: string }]>`select pg_walfile_name(pg_switch_wal()) as name`;
    await until(async () => {
      const [row] = await sql`select last_archived_wal >= ${name} as there from pg_stat_archiver`;
      return row?.there === true;
    }, { deadlineMs, what: `${name} is archived` });
  });
}

test("a point-in-time restore repeats no delivery made since, keeps later revocations and erasures, and reports what is lost", async (t) => {
  const { cluster, databaseUrl, fixture } = await open();
  const { testEnv } = fixture;
  const server = await fixture.start();
  const acme = await fixture.routed();
  const other = await fixture.routed({ crmUrl: `https://127.0.0.1:${fixture.crm.port}${stubborn.path}` });
  const on = { databaseUrl };
  const leaked = await ctl(["key", "issue", acme.tenant.slug, "--label", "leaked"], on);

  const early = await Promise.all(
    Array.from({ length: leads / 2 }, (_, index) => posted(fixture, acme.text, `early${index}`)),
  );
  must(cluster.backrest("--type=full", "backup"));
  const between = await Promise.all(
    Array.from({ length: leads / 2 }, (_, index) => posted(fixture, acme.text, `between${index}`)),
  );
  const jane = await posted(fixture, acme.text, "jane");
  await until(() => settled(databaseUrl, [...early, ...between, jane]), {
    deadlineMs,
    what: "what came before is delivered",
  });
  // These rows wait: the email is sent, the CRM refuses.
  const [soon, never] = [
    await posted(fixture, other.text, "soon"),
    await posted(fixture, other.text, "never"),
  ];
  await until(
    () => [soon, never].every((id) => received(fixture)(id)[1] === 1 && received(fixture)(id)[0] > 0),
    {
      deadlineMs,
      what: "both mails are out",
    },
  );
  const auditFile = join(temporaryFolder("audit"), "audit.jsonl");
  await ctl(["audit", "export", "--append", auditFile], on);
  const [{ now: time }] = await withSql(
    databaseUrl,
    (sql) => sql<[{ now: string }]>`select clock_timestamp()::text as now`,
  );

  // What the restore undoes.
  stubborn.opened = true;
  await until(() => settled(databaseUrl, [soon, never]), { deadlineMs, what: "the CRM has them" });
  const gone = await posted(fixture, acme.text, "gone");
  await until(() => settled(databaseUrl, [gone]), { deadlineMs, what: "it is delivered" });
  await ctl(["key", "revoke", leaked.id], on);
  await ctl(["erase", "--email", "jane@example.net"], on);
  await ctl(["audit", "export", "--append", auditFile], on);
  await archived(cluster);
  const got = received(fixture);
  const before = new Map([...early, ...between, jane, soon, never, gone].map((id) => [id, got(id)]));

  const machine = {
    units: new Map([
      ["lead-actions@a.service", fixture.actions.pid],
      ["lead-audit.timer", null],
      ["lead-intake@a.service", server.pid],
      ["lead-intake.socket", null],
    ]),
    enabled: ["lead-actions@a.service", "lead-intake@a.service", "lead-intake.target"],
    get journal() {
      return `${server.output.stdout}${fixture.actions.output.stdout}Stopping lead-intake@a.service\n`;
    },
    env: { DATABASE_URL: databaseUrl },
  };
  const options = ["--time", time, "--audit", auditFile];
  const running = await cluster.restore([...options, "--yes"], machine);
  assert.equal(running.code, 1);
  assert.match(
    running.stderr,
    /PostgreSQL is running.*Nothing was done.*systemctl stop postgresql@15-main\.service/,
  );
  assert.deepEqual(running.asked, [""]);

  // The disk fails.
  cluster.stop("immediate");
  for (const name of ["base", "global"]) rmSync(join(cluster.dataFolder, name), { recursive: true });
  assert.notEqual(cluster.start().code, 0);

  const unknown = await cluster.restore([...options, "--yes"], { ...machine, env: { DATABASE_URL: "" } });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /owner_database_url nor DATABASE_URL_FILE has .* Nothing was done\n$/);
  assert.deepEqual(unknown.asked, [""]);

  const dry = await cluster.restore([...options, "--dry-run"], machine);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stdout, /from the backup {3}\d{8}-\d{6}F, .*\n[^]*Nothing was done: --dry-run\.\n$/);
  assert.deepEqual(dry.asked, [""]);
  assert.deepEqual(readdirSync(dirname(cluster.dataFolder)), ["main"]);

  const mounted = await cluster.restore([...options, "--yes"], {
    ...machine,
    programs: { mountpoint: "exit 0" },
  });
  assert.equal(mounted.code, 1);
  assert.match(mounted.stderr, /A disk is mounted at .*Nothing was done/);
  assert.deepEqual(mounted.asked, [""]);

  const stuck = await cluster.restore([...options, "--yes"], {
    ...machine,
    units: new Map([["lead-intake.socket", null]]),
    programs: { mv: "exit 1" },
  });
  assert.equal(stuck.code, 1);
  assert.match(
    stuck.stderr,
    /unchanged\. To continue .*: sudo systemctl start postgresql@15-main\.service lead-actions@a\.service/,
  );
  assert.deepEqual(readdirSync(dirname(cluster.dataFolder)), ["main"]);

  const beganMs = performance.now();
  const done = await cluster.restore([...options, "--yes"], machine);
  const tookMs = performance.now() - beganMs;
  assert.equal(done.code, 0, done.stdout + done.stderr);
  t.diagnostic(done.stdout);
  assert.deepEqual(done.asked.map((line) => line.split(" ").slice(0, 2).join(" ")), [
    "stop lead-actions@a.service",
    "start postgresql@15-main.service",
    "reset-failed lead-actions@a.service",
    "start lead-actions@a.service",
  ]);
  assert.match(done.asked.at(-1) ?? "", /lead-intake\.target lead-intake@a\.service/);
  assert.equal(await server.ended, 0, "the service was stopped in order");
  const aside = readdirSync(dirname(cluster.dataFolder)).filter((name) => name.startsWith("main.before-"));
  assert.equal(aside.length, 1, "the old folder is put aside");
  assert.ok(!existsSync(auditFile), "the copy of the audit begins anew");
  assert.match(
    done.stdout,
    /2 events are waiting for delivery; the log shows effects of 2 since then, which are marked as done/,
  );
  assert.match(done.stdout, /No event can be delivered twice/);
  assert.match(done.stdout, /1 post since then was answered 202 and is lost/);
  assert.match(done.stdout, /repeated:[^]*key\.revoke[^]*event\.erase/);

  // The database is that of the chosen moment, and the later changes are repeated.
  await withSql(databaseUrl, async (sql) => {
    assert.equal((await sql`select from event where event_id = ${gone}`).length, 0);
    assert.equal((await sql`select from event`).length, leads + 3);
    const [row] = await sql`select lead, raw, removed_by from event where event_id = ${jane}`;
    assert.deepEqual({ ...row }, { lead: null, raw: null, removed_by: "erasure" });
    const [state] =
      await sql`select pg_is_in_recovery() as standby, timeline_id from pg_control_checkpoint()`;
    assert.equal(state?.standby, false);
  });
  assert.equal((await ctl(["audit", "verify"], on)).ok, true);
  must(cluster.backrest("check"));

  // Delivery continues, and the next lead is accepted.
  await fixture.startActions();
  const after = await fixture.start();
  const { status } = await testEnv.intake({ key: leaked.key, body: {} }, after);
  assert.equal(status, 401, "the revoked key stays revoked");
  const { json } = await testEnv.intake({ key: acme.text, body: lead("next") }, after);
  await until(() => settled(databaseUrl, [soon, never, json.event_id]), {
    deadlineMs,
    what: "nothing waits any more",
  });
  const gotNow = received(fixture);
  for (const [id, effects] of before) assert.deepEqual(gotNow(id), effects, `${id} was not sent again`);
  assert.deepEqual(gotNow(json.event_id), [1, 1]);
  assert.ok(json.event_id > never, "ids go on in the order of acceptance");
  const { code, stdout } = await runCtl(["lead", "show", soon], on);
  assert.equal(code, 0);
  assert.match(stdout, /delivered/);

  t.diagnostic(
    `${leads + 3} events; the data ${bytesOf(cluster.dataFolder)} bytes, the repository ${
      bytesOf(cluster.repository)
    } bytes; restored in ${Math.round(tookMs)} ms`,
  );
});
