import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";

const isoMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

before(() => ctl(["tenant", "add", "acme"], on));

const tenant = (...args: string[]) => ctl(["tenant", ...args], on);
const text = async (...args: string[]) => (await runCtl(["tenant", ...args], on)).stdout.trimEnd();

async function pausedOf(slug: string) {
  const { paused } = (await tenant("list")).find((one: { tenant: string }) => one.tenant === slug);
  return paused.map(({ since, ...rest }: { since: string }) => {
    assert.match(since, isoMs);
    return rest;
  });
}

const audited = async () =>
  (await sql`select action, detail from audit where action in ('tenant.pause', 'tenant.resume') order by id`)
    .map(({ action, detail }) => [action, detail]);

test("tenant pause and resume change each pause once, say what they found, and audit the changes", async () => {
  const [first] = (await tenant("pause", "acme", "--reason", "until Monday")).paused;
  assert.deepEqual({ ...first, since: "" }, {
    destination: "all",
    since: "",
    reason: "until Monday",
    unchanged: false,
  });
  assert.match(first.since, isoMs);
  assert.match(
    await text("pause", "acme"),
    /^Nothing was changed: all deliveries of acme have been paused since [\d-]+ [\d:]+ UTC \(until Monday\)\.$/,
  );
  const [renamed] = (await tenant("pause", "acme", "--reason", "until Tuesday")).paused;
  assert.deepEqual(renamed, { ...first, reason: "until Tuesday" });
  assert.match(
    await text("pause", "acme", "--email", "--slack"),
    /^Paused since .*: Email deliveries of acme\. .*; ctl tenant resume acme --email sends what waits\.\nPaused since .*: Slack deliveries of acme/,
  );
  assert.deepEqual(await pausedOf("acme"), [
    { destination: "all", reason: "until Tuesday" },
    { destination: "email", reason: null },
    { destination: "slack", reason: null },
  ]);
  assert.match(await text("list"), /acme .* paused 20[\d-]+ [\d:]+, email paused .*, slack paused /);
  await sql`insert into outbox (event_id, tenant_id, due_at) select 'waits', id, now() from tenant`;
  assert.match(
    await text("resume", "acme", "--slack"),
    /^Resumed: Slack deliveries of acme; nothing waited\.\nStill paused: all deliveries of acme, since .* \(until Tuesday\); ctl tenant resume acme\nStill paused: Email deliveries of acme/,
  );
  const { resumed, paused } = await tenant("resume", "acme");
  assert.deepEqual(resumed, [{ ...renamed, unchanged: false }]);
  assert.deepEqual(paused.map((one: { destination: string }) => one.destination), ["email"]);
  assert.match(
    await text("resume", "acme"),
    /^Nothing was changed: all deliveries of acme were not paused\.\nStill paused/,
  );
  await tenant("resume", "acme", "--crm", "--email");
  assert.deepEqual(await pausedOf("acme"), []);
  assert.deepEqual(await audited(), [
    ["tenant.pause", { reason: "until Monday" }],
    ["tenant.pause", { reason: "until Tuesday" }],
    ["tenant.pause", { destinations: ["email", "slack"] }],
    ["tenant.resume", { destinations: ["slack"] }],
    ["tenant.resume", null],
    ["tenant.resume", { destinations: ["email"] }],
  ]);
});

test("of operators who pause or resume at once, one changes it and the audit has one row", async () => {
  for (const verb of ["pause", "resume"] as const) {
    await sql`delete from audit`;
    const replies = await Promise.all([1, 2, 3].map(() => tenant(verb, "acme")));
    const changed = replies.flatMap((reply) => reply[`${verb}d`]).filter(({ unchanged }) => !unchanged);
    assert.equal(changed.length, 1);
    assert.deepEqual(await audited(), [[`tenant.${verb}`, null]]);
  }
});

test("an unknown tenant is refused, and a wrong reason is a usage error", async () => {
  for (const verb of ["pause", "resume"]) {
    const { code, stderr } = await runCtl(["tenant", verb, "nobody"], on);
    assert.deepEqual([code, stderr.split(";")[0]], [1, "There is no tenant nobody"]);
  }
  for (const reason of ["", "x".repeat(201), "a\nb"]) {
    assert.equal((await runCtl(["tenant", "pause", "acme", "--reason", reason], on)).code, 2);
  }
});

test("disabling a tenant names the pause, and the doctor lists pauses without a warning", async () => {
  assert.match(
    await text("disable", "acme"),
    /do not retry a 401.*: ctl tenant pause acme; ctl tenant enable acme$/s,
  );
  await tenant("enable", "acme");
  await tenant("pause", "acme", "--crm", "--reason", "migration");
  const { stdout } = await runCtl(["doctor", "--json"], { ...on, env: { DATABASE_URL: databaseUrl } });
  const { checks } = JSON.parse(stdout);
  const [found] = checks.filter(({ check }: { check: string }) => check === "Pauses");
  assert.equal(found.state, "ok");
  assert.match(
    found.text,
    /^CRM deliveries of acme: paused since .* \(migration\), 0 events waiting; ctl tenant resume acme --crm$/,
  );
});
