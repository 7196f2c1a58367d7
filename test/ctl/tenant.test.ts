import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

const isoMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

test("tenant add prints the tenant, and tenant list includes it", async () => {
  assert.deepEqual(await ctl(["tenant", "add", "acme", "--name", " Acme \x20Roofing "], on), {
    tenant: "acme",
    name: "Acme  Roofing",
    sandbox: false,
  });
  assert.deepEqual(await ctl(["--sandbox", "tenant", "add", "box"], on), {
    tenant: "box",
    name: "box",
    sandbox: true,
  });
  const [acme, box, ...others] = await ctl(["tenant", "list"], on);
  assert.deepEqual(others, []);
  assert.match(acme.created_at, isoMs);
  assert.deepEqual({ ...acme, created_at: "" }, {
    tenant: "acme",
    name: "Acme  Roofing",
    sandbox: false,
    disabled_at: null,
    paused: [],
    routes: [],
    time_zone: "UTC",
    digest: null,
    digest_actions: false,
    retention_days: null,
    created_at: "",
  });
  assert.equal(box.sandbox, true);
});

test("campaign add prints the campaign; its slug is unique per tenant", async () => {
  assert.deepEqual(await ctl(["campaign", "add", "spring", "--tenant", "acme"], on), {
    campaign: "spring",
    tenant: "acme",
  });
  await ctl(["campaign", "add", "spring", "--tenant", "box"], on);
  const again = await runCtl(["campaign", "add", "spring", "--tenant", "acme"], on);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^Tenant acme already has a campaign spring/);
});

test("campaign list shows spend_cents as a number, for one tenant or all", async () => {
  const all = await ctl(["campaign", "list"], on);
  assert.deepEqual(all.map((row: { tenant: string }) => row.tenant), ["acme", "box"]);
  const [only, ...others] = await ctl(["campaign", "list", "--tenant", "acme"], on);
  assert.deepEqual(others, []);
  assert.match(only.created_at, isoMs);
  assert.deepEqual({ ...only, created_at: "" }, {
    campaign: "spring",
    tenant: "acme",
    spend_cents: 0,
    credit_cents: 0,
    net_cents: 0,
    created_at: "",
  });
  const { stdout } = await runCtl(["campaign", "list"], on);
  assert.match(
    stdout,
    /^TENANT {2}CAMPAIGN {2}GROSS {2}CREDIT {4}NET {2}CREATED \(UTC\)\nacme {4}spring {4}\$0\.00 {3}\$0\.00 {2}\$0\.00 {2}\d{4}-/,
  );
});

test("tenant retention sets the retention days, tenant list shows them, and the change is audited", async () => {
  assert.deepEqual(await ctl(["tenant", "retention", "acme", "--days", "400"], on), {
    tenant: "acme",
    retention_days: 400,
  });
  assert.equal((await ctl(["tenant", "list"], on))[0].retention_days, 400);
  assert.match((await runCtl(["tenant", "list"], on)).stdout, /acme +Acme.* live .*400 days/);
  const one = await runCtl(["tenant", "retention", "acme", "--days", "1"], on);
  assert.equal(one.stdout, "The content of acme's events is kept for 1 day.\n");
  assert.deepEqual(await ctl(["tenant", "retention", "acme", "--clear"], on), {
    tenant: "acme",
    retention_days: null,
  });
  assert.equal((await ctl(["tenant", "list"], on))[0].retention_days, null);
  const { code, stderr } = await runCtl(["tenant", "retention", "nobody", "--days", "9"], on);
  assert.deepEqual([code, stderr], [
    1,
    "There is no tenant nobody; ctl tenant list shows them, ctl tenant add nobody adds it\n",
  ]);
  const noted =
    await sql`select action, subject, detail from audit where action = 'tenant.retention' order by id`;
  assert.deepEqual(noted.map(({ subject, detail }) => [subject, detail]), [
    ["acme", { days: 400 }],
    ["acme", { days: 1 }],
    ["acme", { days: null }],
  ]);
});

test("tenant set changes name, time zone, digest and digest links, and audits them without the name", async () => {
  assert.deepEqual(
    await ctl(
      ["tenant", "set", "acme", "--name", "Acme Inc.", "--time-zone", "America/Chicago", "--digest", "07:00"],
      on,
    ),
    {
      tenant: "acme",
      name: "Acme Inc.",
      time_zone: "America/Chicago",
      digest: "07:00",
      digest_actions: false,
    },
  );
  assert.match(
    (await runCtl(["tenant", "set", "acme", "--digest", "18:30"], on)).stdout,
    /Acme Inc\.\nTime zone +America\/Chicago, where it is \d\d:\d\d\nDigest +daily at 18:30/,
  );
  assert.match((await runCtl(["tenant", "list"], on)).stdout, /acme .* America\/Chicago +18:30 /);
  for (const state of ["off", "on"]) {
    const { digest_actions } = await ctl(["tenant", "set", "acme", "--digest-actions", state], on);
    assert.equal(digest_actions, state === "on");
  }
  assert.equal((await runCtl(["tenant", "set", "acme", "--digest-actions", "yes"], on)).code, 2);
  const off = await ctl(["tenant", "set", "acme", "--digest", "off", "--time-zone", "UTC"], on);
  assert.equal(off.digest_actions, true);
  assert.deepEqual([off.name, off.time_zone, off.digest], ["Acme Inc.", "UTC", null]);
  const noted = await sql`select subject, detail from audit where action = 'tenant.set' order by id`;
  assert.deepEqual(noted.map(({ subject, detail }) => [subject, detail]), [
    ["acme", { name: "changed", time_zone: "America/Chicago", digest_at: "07:00" }],
    ["acme", { digest_at: "18:30" }],
    ["acme", { digest_actions: false }],
    ["acme", { digest_actions: true }],
    ["acme", { time_zone: "UTC", digest_at: null }],
  ]);
});

test("a key issued while its tenant is being disabled is refused", async () => {
  await ctl(["tenant", "add", "racing"], on);
  const issue = ["key", "issue", "racing", "--label", "late"];
  await sql.begin(async (transaction) => {
    await transaction`select from disable_tenant('racing', true)`;
    const issuing = runCtl(issue, on);
    await until(async () => {
      const rows =
        await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'api_key'`;
      return rows.length > 0;
    }, { what: "the new key waits for the tenant's row" });
    return { issuing };
  }).then(async ({ issuing }) => assert.match((await issuing).stderr, /Tenant racing is disabled/));
  assert.deepEqual(await ctl(["key", "list", "--tenant", "racing"], on), []);
});

test("disabling a tenant does not deadlock with the service's record of when keys were used", async () => {
  await ctl(["tenant", "add", "busy"], on);
  // With so many, PostgreSQL scans the keys in the order of their storage, and an updated one comes last.
  const keys = await sql<{ id: number }[]>`
    insert into api_key (tenant_id, surface, label, digest, last4)
    select t.id, 'intake', i::text, sha256(i::text::bytea), '1234' from tenant as t, generate_series(1, 40) as i
    where t.slug = 'busy' returning id`;
  const [first = 0, second = 0] = keys.map(({ id }) => id);
  await sql`update api_key set last_used_at = now() where id = ${first}`;
  await sql`analyze api_key`;
  const disabling = await sql.reserve();
  await disabling`begin`;
  await disabling`select from api_key where id = ${first} for no key update`;
  const used = ["2026-01-01", "2026-01-01"];
  const recording = sql`
    select add_refusals('{}', '{}', '{}', '{}', ${[first, second]}, ${used})`.execute();
  await until(async () => (await sql`select from pg_locks where not granted`).length > 0, {
    what: "it waits",
  });
  await disabling`select disable_tenant('busy', true)`;
  await disabling`commit`;
  await recording;
  disabling.release();
});
