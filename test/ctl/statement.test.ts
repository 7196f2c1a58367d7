import assert from "node:assert/strict";
import { before, test } from "node:test";
import { ctl, runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
const leads = 2_300;

before(async () => {
  await ctl(["tenant", "add", "acme", "--name", "Acme Roofing"], on);
  await ctl(["tenant", "set", "acme", "--time-zone", "America/New_York"], on);
  await ctl(["key", "issue", "acme", "--label", "=web"], on);
  for (let key = 2; key <= 3; key += 1) await ctl(["key", "issue", "acme", "--label", "ads"], on);
  // Alternately of both sources, one of which has two keys, in the hour that occurs twice, and one lead just before the month.
  await sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select new_event_id(event_id_at(e.at), 1), 'lead', 1, (array[1, 2, 1, 3])[1 + e.n % 4], e.at, 'c', '{}', json_build_object(
      'first_name', 'Ada', 'last_name', '=1+1', 'phone', '+15551234567', 'email', 'ada@example.com', 'external_id', '-' || e.n,
      'project_area', 'roof', 'zip', '97201', 'cost_cents', 150
    )
    from (
      select n, timestamptz '2026-11-01 03:59:00Z' + n * interval '1 minute' as at from generate_series(0, ${leads}::int) as n
    ) as e`;
  const [{ id } = { id: "" }] = await sql<{ id: string }[]>`
    select event_id as id from event where key_id = 1 order by event_id offset 1 limit 1`;
  await ctl(["lead", "return", id, "--reason", "out_of_area"], on);
});

const statement = (...options: string[]) =>
  runCtl(["statement", "--tenant", "acme", "--month", "2026-11", ...options], on);

test("a statement shows a month's gross, credit and net by source, in the customer's time zone", async () => {
  const { code, stdout } = await statement();
  assert.equal(code, 0);
  assert.match(stdout, /^Acme Roofing \(acme\), 2026-11, America\/New_York\n\nSOURCE +ACCEPTED +DUPLICATES/);
  const rows = stdout.trimEnd().split("\n").slice(-3).map((line) => line.trim().split(/ +/));
  assert.deepEqual(rows, [
    ["=web", "1150", "0", "0", "1", "$1725.00", "$1.50", "$1723.50"],
    ["ads", "1150", "0", "0", "0", "$1725.00", "$0.00", "$1725.00"],
    ["All", "2300", "0", "0", "1", "$3450.00", "$1.50", "$3448.50"],
  ]);
  const before = await runCtl(["statement", "--tenant", "acme", "--month", "2026-10"], on);
  assert.match(before.stdout, /=web +0 |=web +1 /);
  const other = await statement("--source", "adds");
  assert.deepEqual([other.code, other.stderr], [
    1,
    "acme has no source adds for leads; ctl key list --tenant acme shows them\n",
  ]);
});

test("the CSV has one row a lead by source and local time, over several pages, without contacts or formulas", async () => {
  const { stdout } = await statement("--csv");
  const [header, ...lines] = stdout.trimEnd().split("\r\n");
  assert.equal(header, "local_time,event_id,source,external_id,area,zip,cost,state,returned,reason");
  const cells = lines.map((line) => line.split(","));
  assert.equal(new Set(cells.map(([, id]) => id)).size, leads);
  assert.deepEqual(
    cells.map(([, id, source]) => [source, id]),
    cells.map(([, id, source]) => [source, id]).sort(),
  );
  const [first = []] = cells;
  assert.deepEqual([first[0], ...first.slice(2, 8)], [
    "2026-11-01 00:01:00",
    "'=web",
    "'-2",
    "roof",
    "97201",
    "1.50",
    "delivered",
  ]);
  assert.deepEqual(cells.filter((row) => row[9] !== "").map((row) => [row[8] !== "", row[9]]), [[
    true,
    "out_of_area",
  ]]);
  assert.doesNotMatch(stdout, /Ada|1\+1|15551234567|@/);
  assert.equal((await statement("--csv", "--source", "ads")).stdout.trimEnd().split("\r\n").length, 1_151);
});

test("contacts leave only with --contacts, which is audited", async () => {
  const audited = async () =>
    (await ctl(["audit", "list"], on)).filter(({ action }: { action: string }) =>
      action === "tenant.export_contacts"
    );
  assert.equal((await audited()).length, 0);
  const { stdout } = await statement("--csv", "--contacts", "--source", "ads");
  const [header = "", line = ""] = stdout.split("\r\n");
  assert.match(header, /,reason,first_name,last_name,phone,email$/);
  assert.match(line, /,Ada,'=1\+1,'\+15551234567,ada@example\.com$/);
  const [{ subjects, detail }] = await audited();
  assert.deepEqual([subjects, detail], [["acme"], { month: "2026-11", source: "ads" }]);
});
