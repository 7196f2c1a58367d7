import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "box", "--sandbox"], on);
});

const route = (...args: string[]) => ctl(["tenant", "route", ...args], on);
const refused = (...args: string[]) => runCtl(["tenant", "route", ...args, "--json"], on);
const secretShape = /^whsec_[A-Za-z0-9+/]{43}=$/;

/** Returns acme's CRM route, null in every column without one, and `has_route`. */
async function stored() {
  const [row] = await sql`
    select r.*, t.has_route from tenant as t
    left join actions.route as r on r.tenant_id = t.id and r.kind = 'crm' where t.slug = 'acme'`;
  return row as Record<string, unknown>;
}

test("--crm-url generates a secret and prints it once", async () => {
  const { crm_secret, ...rest } = await route("acme", "--crm-url", "HTTPS://CRM.Example.com/leads?k=1");
  assert.deepEqual(rest, {
    tenant: "acme",
    crm_url: "https://crm.example.com/leads?k=1",
    email: [],
    closer: [],
  });
  assert.match(crm_secret, secretShape);
  const row = await stored();
  assert.deepEqual([row.secret, row.has_route], [crm_secret, true]);
  assert.deepEqual(await route("acme"), rest);
  const { stdout, stderr } = await runCtl(["tenant", "route", "acme"], on);
  assert.doesNotMatch(stdout + stderr, /whsec_/);
});

test("setting the same URL again keeps the secret, and --email does not change the CRM route", async () => {
  const { secret } = await stored();
  assert.deepEqual(await route("acme", "--crm-url", "https://crm.example.com/leads?k=1"), {
    tenant: "acme",
    crm_url: "https://crm.example.com/leads?k=1",
    email: [],
    closer: [],
  });
  assert.deepEqual(await route("acme", "--email", " sales@acme.example "), {
    tenant: "acme",
    crm_url: "https://crm.example.com/leads?k=1",
    email: ["sales@acme.example"],
    closer: [],
  });
  assert.equal((await stored()).secret, secret);
});

test("--rotate-secret generates a new secret, and the previous one signs for another day", async () => {
  const { secret: before } = await stored();
  const { crm_secret } = await route("acme", "--rotate-secret");
  assert.notEqual(crm_secret, before);
  const row = await stored();
  assert.deepEqual([row.secret, row.secret_before], [crm_secret, before]);
  const hoursLeft = ((row.secret_before_until as Date).getTime() - Date.now()) / 3_600_000;
  assert.ok(hoursLeft > 23.9 && hoursLeft <= 24.1, String(hoursLeft));
  const [due] =
    await sql`select * from actions.begin_effects('e1', 'acme', 'partner', '', gen_random_uuid(), 1)`;
  assert.deepEqual([due?.secret, due?.secret_before], [crm_secret, before]);
  await sql`update actions.route set secret_before_until = now() - interval '1 second' where kind = 'crm'`;
  const [late] =
    await sql`select * from actions.begin_effects('e1', 'acme', 'partner', '', gen_random_uuid(), 1)`;
  assert.deepEqual([late?.secret, late?.secret_before], [crm_secret, null]);
});

test("the database refuses any route for a sandbox tenant", async () => {
  const rule = { code: "23503", constraint_name: "a_sandbox_tenant_has_no_route" };
  const [box] = await sql<{ id: number }[]>`select id from tenant where slug = 'box'`;
  const id = box?.id as number;
  for (
    const [kind, address] of [["email", "a@b.example"], ["slack", "https://a.example/"], [
      "pager",
      "https://a.example/",
    ]]
  ) {
    await assert.rejects(
      sql`insert into actions.route (tenant_id, kind, address) values (${id}, ${kind as string}, ${address as string})`,
      rule,
    );
    const changes = JSON.stringify([{ kind, addresses: [address] }]);
    await assert.rejects(
      sql`select actions.set_route(${id}, '', '', ${changes}::text::json, '1 day', 10)`,
      rule,
    );
  }
  await assert.rejects(
    sql`insert into actions.route (tenant_id, kind, address, sandbox) overriding system value
      values (${id}, 'email', 'a@b.example', true)`,
  );
  await route("acme", "--email", "sales@acme.example");
  await assert.rejects(sql`update actions.route set tenant_id = ${id}`, rule);
  await assert.rejects(sql`update tenant set sandbox = true where slug = 'acme'`, rule);
  await assert.rejects(sql`update actions.route set sandbox = true`);
  assert.equal((await sql`select from tenant where has_route and sandbox`).length, 0);
});

test("adding a route notifies the delivery loops", async () => {
  await sql`delete from actions.route`;
  const notified = Promise.withResolvers<string>();
  const listening = await sql.listen("outbox", (payload) => notified.resolve(payload));
  await route("acme", "--email", "sales@acme.example");
  assert.equal(await notified.promise, "");
  await listening.unlisten();
});

/** Returns the ids of the email routes by address. */
async function mailRoutes(): Promise<Record<string, number>> {
  const rows = await sql<{ address: string; id: number }[]>`
    select address, id from actions.route where kind = 'email' and source = '' and form = '' order by id`;
  return Object.fromEntries(rows.map(({ address, id }) => [address, id]));
}

test("--email sets several addresses; an address that replaces another keeps its route's effects", async () => {
  const { email } = await route("acme", "--email", "a@acme.example, b@acme.example,a@acme.example");
  assert.deepEqual(email, ["a@acme.example", "b@acme.example"]);
  const before = await mailRoutes();
  await route("acme", "--email", "b@acme.example,c@acme.example,d@acme.example");
  const after = await mailRoutes();
  assert.equal(after["b@acme.example"], before["b@acme.example"]);
  assert.ok(Object.values(after).includes(before["a@acme.example"] as number), "a's route has a new address");
  assert.equal(Object.keys(after).length, 3);
  await route("acme", "--email", "d@acme.example");
  assert.deepEqual(await mailRoutes(), { "d@acme.example": after["d@acme.example"] });
  assert.match((await runCtl(["tenant", "route", "acme"], on)).stdout, /^Email +d@acme\.example$/m);
});

test("--source and --form set their own routes, and the value none removes them", async () => {
  await ctl(["key", "issue", "acme", "--label", "Partner X"], on);
  await ctl(["form", "add", "acme", "contact", "--required", "name"], on);
  const { closer } = await route("acme", "--source", "Partner X", "--email", "x@acme.example");
  assert.deepEqual(closer, [{ source: "Partner X", crm_url: null, email: ["x@acme.example"] }]);
  const hook = await route("acme", "--form", "contact", "--crm-url", "https://forms.example.com/");
  assert.match(hook.crm_secret, secretShape);
  const { stdout } = await runCtl(["tenant", "route", "acme"], on);
  assert.match(stdout, /^Source +Partner X\nCRM +inherited\nEmail +x@acme\.example$/m);
  assert.match(stdout, /^Form +contact\nCRM +https:\/\/forms\.example\.com\/\nEmail +inherited$/m);
  const ended = await runCtl(["tenant", "route", "acme", "--source", "Partner X", "--email", "none"], on);
  assert.match(ended.stderr, /Events from source Partner X now use the next most specific route\./);
  const [entry] = await sql`select detail from audit where action = 'tenant.route' order by id desc limit 1`;
  assert.deepEqual(entry?.detail, { crm: "none", email: "cleared", new_secret: false, source: "Partner X" });
  await route("acme", "--form", "contact", "--crm-url", "none");
  assert.deepEqual((await route("acme")).closer, []);
});

test("a new route makes events with reason no_route due at once, except those being sent", async () => {
  await ctl(["tenant", "add", "later"], on);
  await sql`
    insert into outbox (event_id, tenant_id, due_at, reason, lease)
    select i.id, t.id, now() + interval '1 hour', i.reason, i.lease::uuid
    from tenant as t, (values
      ('waits', 'no_route', null), ('fails', 'crm failed: http_500', null),
      ('sends', 'no_route', '00000000-0000-4000-8000-000000000001')) as i (id, reason, lease)
    where t.slug = 'later'`;
  await route("later", "--source", "partner-x", "--email", "x@later.example");
  const due =
    await sql`select event_id from outbox where due_at <= now() and event_id in ('waits', 'fails', 'sends')`;
  assert.deepEqual([...due], [{ event_id: "waits" }]);
});

const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["plain HTTP", ["--crm-url", "http://crm.example.com/"], /--crm-url must be an https URL/],
  ["a URL without a scheme", ["--crm-url", "crm.example.com"], /--crm-url must be an https URL/],
  [
    "a password in the URL",
    ["--crm-url", "https://u:hunter2@crm.example.com"],
    /must not contain a user/,
  ],
  ["a fragment", ["--crm-url", "https://crm.example.com/#hunter2"], /must not have a fragment/],
  [
    "a URL over the maximum length",
    ["--crm-url", `https://crm.example.com/${"x".repeat(2_000)}`],
    /longer than 2000/,
  ],
  ["an invalid email address", ["--email", "sales"], /--email must be comma-separated addresses/],
  [
    "an empty email address in a list",
    ["--email", "a@b.example,,c@d.example"],
    /--email must be comma-separated addresses/,
  ],
  [
    "more email addresses than ten",
    ["--email", Array.from({ length: 11 }, (_, index) => `a${index}@b.example`).join()],
    /--email accepts at most 10 addresses/,
  ],
  [
    "a source and a form",
    ["--source", "x", "--form", "y", "--email", "a@b.example"],
    /--source cannot be combined with/,
  ],
  ["a source and no option", ["--source", "x"], /--source requires an option/],
  ["an invalid form key", ["--form", "a b", "--email", "a@b.example"], /--form must be the key of a form/],
  [
    "an email address with a name",
    ["--email", "A <a@b.example>"],
    /--email must be comma-separated addresses/,
  ],
  [
    "a header after the address",
    ["--email", "a@b.example\r\nBcc: c@d.example"],
    /--email must be comma-separated addresses/,
  ],
  ["an unknown route to clear", ["--clear", "all"], /--clear must be crm, email or slack/],
  [
    "a CRM URL that is set and cleared",
    ["--clear", "crm", "--crm-url", "https://a.example/"],
    /cannot be combined with/,
  ],
  ["a secret that is rotated and cleared", ["--clear", "crm", "--rotate-secret"], /cannot be combined with/],
  [
    "a Slack URL that is none and cleared",
    ["--clear", "slack", "--slack-url", "none"],
    /cannot be combined with/,
  ],
  ["plain HTTP to Slack", ["--slack-url", "http://hooks.slack.com/hunter2"], /--slack-url must be an https/],
  [
    "a fragment in Slack's URL",
    ["--slack-url", "https://a.example/#hunter2"],
    /must not have a fragment/,
  ],
  [
    "an email address that is set and cleared",
    ["--clear", "email", "--email", "a@b.example"],
    /cannot be combined with/,
  ],
];
for (const [what, args, message] of wrong) {
  test(`tenant route with ${what} exits 2 without printing the value`, async () => {
    const { code, stdout, stderr } = await refused("acme", ...args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /hunter2/);
  });
}
