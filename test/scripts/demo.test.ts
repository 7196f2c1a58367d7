/** What `npm run demo` fills and what it refuses to touch. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import postgres from "postgres";
import { findProcess } from "../../scripts/processes.ts";
import { atEnd } from "../support/at_end.ts";
import { get } from "../support/client.ts";
import { createDatabase, withSql } from "../support/database.ts";
import { copyCheckout } from "../support/scripts/checkout.ts";
import { killAll, start, welcome } from "../support/scripts/npm_start.ts";

function demo(folder: string, env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, ["--import", "./scripts/check_node.js", "scripts/demo.ts"], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  });
}

atEnd(killAll);

test("npm run demo fills the database of npm start once, with a month that the operator's pages show", async () => {
  const copy = copyCheckout();
  const started = start(copy);
  const { text } = await welcome(started);
  const ops = /^ {2}ops +(\S+)$/m.exec(text)?.[1] ?? "";
  const { databaseUrl } = JSON.parse(readFileSync(join(copy, ".data/running.json"), "utf8"));
  const sql = postgres(databaseUrl, { max: 1 });

  const refused = demo(copy, { DATABASE_URL: databaseUrl });
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /unset both/);

  const first = demo(copy);
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stdout, /Added \d{4} leads and \d{3} form submissions for 3 sandbox tenants/);
  assert.ok(first.stdout.includes(`${ops}/?range=30d`), first.stdout);
  const counts = async () =>
    (await sql`
      select (select count(*)::int from event) as events, (select count(*)::int from dead_letter) as dead,
        (select count(*)::int from collision) as collisions, (select count(*)::int from hour_total) as hours,
        (select count(*)::int from submission where verdict <> 'clean') as held,
        (select sum(count)::int from refusal_total) as refusals,
        (select count(distinct date_trunc('day', received_at))::int from event) as days,
        (select count(*)::int from minute_sample where node = 'demo') as minutes,
        (select prosrc from pg_proc where proname = 'service_clock') as clock,
        (select count(*)::int from tenant as t join actions.route as r on r.tenant_id = t.id
          where t.slug like 'demo-%') as routes,
        (select bool_and(sandbox) from tenant where slug like 'demo-%') as sandboxes`)[0];
  const found = await counts();
  for (const name of ["dead", "collisions", "hours", "held", "refusals"]) {
    assert.ok(Number(found?.[name]) > 0, name);
  }
  assert.ok(found?.days >= 30 && found?.minutes > 43_000);
  assert.match(found?.clock, /^ select clock_timestamp\(\) $/);
  assert.deepEqual([found?.routes, found?.sandboxes], [0, true], "nothing of it can leave this machine");

  const deaths = await sql`
    select d.reason, (count(*) filter (where a.spent))::int as attempts from dead_letter as d join attempt as a using (event_id)
    group by d.event_id, d.reason`;
  assert.deepEqual(
    deaths.filter(({ attempts }) => attempts !== 24),
    [],
    "dead after the attempts that the documents name",
  );
  assert.ok(deaths.some(({ reason }) => reason === "crm failed: http_401"));
  const unnamed = await sql`
    select slug from tenant as t where slug like 'demo-%' and not exists (select from audit where subject = t.slug)`;
  assert.deepEqual([...unnamed], [], "the audit names each tenant");

  const second = demo(copy);
  assert.equal(second.status, 0);
  assert.match(second.stdout, /nothing was changed/);
  assert.equal((await counts())?.events, found?.events);

  const page = await get(`${ops}/leads`, { localAddress: "127.0.0.1" });
  assert.equal(page.status, 200);
  assert.match(page.text, /demo-roofing/);
  await sql.end();
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
});

test("npm run demo refuses a database that npm start has not marked", async () => {
  const database = await createDatabase();
  const copy = copyCheckout();
  mkdirSync(join(copy, ".data"));
  const running = { ...findProcess(process.pid), databaseUrl: database.url, addresses: [] };
  writeFileSync(join(copy, ".data/running.json"), JSON.stringify(running));
  const refused = demo(copy);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /not npm start's own database: nothing was changed/);
  assert.equal((await withSql(database.url, (sql) => sql`select from tenant`)).length, 0);
});
