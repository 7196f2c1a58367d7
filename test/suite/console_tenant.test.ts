import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeHtml } from "../../src/http/markup.ts";
import { navigation } from "../../src/ops/console/router.ts";
import { hostile } from "../support/console/crowd.ts";
import { plain as plainText } from "../support/console/plain.ts";
import { ConsoleStage } from "../support/console/stage.ts";
import { ctl } from "../support/server.ts";
import { freshKey, lead } from "../support/test_env.ts";

const stage = await ConsoleStage.open();
const { testEnv } = stage;
const { sql } = testEnv;

/** Returns a page's text, with spaces between cells. */
const plain = (text: string) => plainText({ text: text.replaceAll(/<\/(td|th|h\d|dt|dd)>|<small>/g, " ") });

const tenant = await testEnv.tenant();
const other = await testEnv.tenant();
const page = `/tenants/${tenant.slug}`;
const run = (...args: string[]) => ctl(args, { databaseUrl: testEnv.database.url });

await sql`update tenant set name = ${hostile}, time_zone = 'America/Denver' where id = ${tenant.id}`;
await run("campaign", "add", "spring", "--tenant", tenant.slug);
await run("campaign", "add", "spring", "--tenant", other.slug);
const [campaign] = await sql<{ id: number }[]>`select id from campaign where tenant_id = ${tenant.id}`;
const key = await testEnv.issue({ tenant, label: `key ${hostile}`, campaignId: campaign?.id as number });
const exposed = await testEnv.issue({ tenant, label: "leaky" });
await sql`insert into refusal_total values (current_date, ${exposed.id}, 'key_in_url', '', 1)`;
const stranger = await testEnv.issue({ tenant: other, label: "stranger" });

test("a tenant's page shows everything about the customer, and nothing of another one", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) {
    ids.unshift(
      await testEnv.accept(key, {
        first_name: "Zoë",
        last_name: `Number${n} ${hostile}`,
        project_area: "kitchen",
        project_service: "repair",
        zip: "97201",
        cost: 10,
      }),
    );
  }
  await testEnv.accept(stranger, { last_name: "Strangelove" });
  await stage.kill(tenant, ids.slice(10));
  const form = await testEnv.form({ tenant, formKey: "quote", required: ["name"] });
  const held = await stage.held(key, form.id);
  await stage.deliver(tenant, ids[0] as string, hostile);
  for (const [phone, city] of [["(503) 555-0101", "Salem"], ["(503) 555-0102", "Bend"]]) {
    for (const { text } of [key, stranger]) {
      const headers = { "Idempotency-Key": `${phone?.length} same` };
      await testEnv.intake({ key: text, body: lead({ phone, city }), headers });
    }
  }
  const { status, text } = await stage.get(page);
  assert.equal(status, 200);
  const shown = plain(text);
  assert.match(shown, /<script>alert\(1\)<\/script>"'>.* tenant tenant-\d+/, "the name is text");
  assert.doesNotMatch(text, /<script|<img|Strangelove|stranger/);
  assert.match(shown, /Waiting 10 not yet delivered Dead 2 dead letters Held 1 held .* Collisions 1 open/);
  assert.match(shown, /State enabled Time zone America\/Denver Daily digest none Content is kept forever/);
  assert.match(shown, /Email l…@acme\.example failed 451/);
  // The last response and the last success.
  assert.match(shown, /CRM crm\.example done 200 (20\S+ \S+) (?:now|\d+ s ago) \w{8} \1 /);
  assert.match(shown, /exposed leaky lead_live_….{4} – never/);
  assert.ok(shown.includes(`lead_live_…${key.text.slice(-4)} spring`));
  assert.match(shown, /Forms Form .* quote name the service's default/);
  assert.match(shown, /Campaign Gross Credits Net Created spring \$120\.00 \$0\.00 \$120\.00/);
  const listed = [...text.matchAll(/<a class="id" href="\/leads\/(\w+)" title="\1">\w{8}<\/a>/g)]
    .map(([, id]) => id);
  assert.equal(text.match(/data-label="Lead"/g)?.length, 10, "the last ten leads");
  assert.deepEqual(listed.slice(1, 10), [held, ...ids.slice(0, 8)], "by short ids, newest first");
  assert.match(shown, /Zoë Number\d+ .* kitchen · repair · 97201 · \$10\.00 · …4567 /);
  for (
    const link of [
      `/leads?tenant=${tenant.slug}`,
      `/leads?tenant=${tenant.slug}&amp;state=pending`,
      `/dead?tenant=${tenant.slug}`,
      `/held?tenant=${tenant.slug}`,
      `/collisions?tenant=${tenant.slug}&amp;show=lost`,
      `/report?tenant=${tenant.slug}`,
      `/statement?tenant=${tenant.slug}`,
      `/audit?tenant=${tenant.slug}`,
      `/keys/${key.id}`,
    ]
  ) assert.ok(text.includes(`href="${link}"`), link);
  for (const path of ["/tenants", "/leads", "/dead", "/held", "/collisions", "/keys", "/forms"]) {
    assert.ok((await stage.get(path)).text.includes(`href="${page}"`), `${path} links the tenant`);
  }
});

test("a disabled sandbox tenant without anything says so in each section", async () => {
  await run("tenant", "add", "empty-box", "--sandbox");
  await run("tenant", "disable", "empty-box");
  const { text } = await stage.get("/tenants/empty-box");
  assert.match(
    plain(text),
    /disabled sandbox .* State disabled .*its keys get 401, which partners do not retry; a sandbox.* None yet\. Routes A sandbox tenant has no routes.* Keys No keys for this tenant.* Forms No forms for this tenant\. Campaigns No campaigns\./,
  );
});

test("a tenant's audit has what was done to it, its keys, forms and campaigns, and nothing of another tenant", async () => {
  await run("tenant", "set", tenant.slug, "--name", "Renamed");
  await run("key", "revoke", String(exposed.id));
  await run("form", "add", tenant.slug, "contact", "--required", "name");
  await run("tenant", "set", other.slug, "--name", "Elsewhere");
  await run("key", "revoke", String(stranger.id));
  const audit = async (query: string) => plain((await stage.get(`/audit?${query}`)).text);
  const own = await audit(`tenant=${tenant.slug}`);
  for (
    const entry of [
      `Changed the settings of tenant ${tenant.slug}`,
      `Revoked key ${exposed.id}`,
      `Added form ${tenant.slug}/contact`,
      `Added campaign spring (tenant ${tenant.slug})`,
    ]
  ) assert.ok(own.includes(entry), entry);
  assert.doesNotMatch(own, new RegExp(`campaign spring \\(tenant ${other.slug}|key ${stranger.id} `));
  assert.match(await audit(`subject=${exposed.id}`), /Revoked key/);
  const unknown = await stage.get("/audit?subject=503-555-0101");
  assert.match(unknown.text, /name="subject" value="503-555-0101"/, "the field keeps what was typed");
  assert.match(plain(unknown.text), /No actions on it\. “503-555-0101” looks like a phone number\./);
});

test("every page has the search box", async () => {
  for (const path of [...navigation.map(({ path }) => path), page, "/tenants/nobody", "/nowhere"]) {
    const { text } = await stage.get(path, { Accept: "text/html" });
    assert.match(
      text,
      /<form class="find" role="search" aria-label="Find" method="get" action="\/find"><input type="search" name="q" aria-label="[^"]+"/,
      path,
    );
    assert.equal(text.split('type="search"').length, 2, `${path} has one`);
  }
});

test("an id that identifies nothing stays in the search box, and the page says what it looks like", async () => {
  const eventId = await testEnv.accept(key);
  const missing = eventId.replace(/^../, "00");
  const cases: readonly (readonly [path: string, typed: string, says: RegExp])[] = [
    ["/tenants", "nobody", /“nobody” looks like a name\. Search for it\. See the list of tenants/],
    ["/tenants", eventId, /This looks like the id of a lead or submission/],
    ["/leads", missing, /has the right form, but there is none with this id/],
    ["/leads", eventId.slice(0, 8), /looks like the beginning of an event id\. Search for it/],
    ["/leads", "12", /looks like the number of a collision or of a key/],
    ["/leads", tenant.slug, /looks like .*, or the slug of a tenant/],
    ["/leads", "grace@example.com", /looks like an email address/],
    ["/leads", hostile, /looks like an Idempotency-Key/],
    ["/collisions", "999", /has the right form, but there is none/],
    ["/collisions", eventId, /This looks like the id of a lead or submission/],
    ["/keys", "(503) 555-0101", /looks like a phone number/],
    ["/keys", freshKey(), /looks like an Idempotency-Key/],
  ];
  for (const [path, typed, says] of cases) {
    const { status, text } = await stage.get(`${path}/${encodeURIComponent(typed)}`);
    assert.equal(status, 404, typed);
    assert.match(plain(text), says, typed);
    assert.equal(/name="q"[^>]* value="([^"]*)"/.exec(text)?.[1], escapeHtml(typed), "it is kept");
    assert.doesNotMatch(text, /<script|<img/);
  }
  assert.ok((await stage.get(`/tenants/${eventId}`)).text.includes(`href="/leads/${eventId}"`));
});

test("an API key in place of an id or a filter is not repeated on the page", async () => {
  for (
    const query of [
      "leads?source=",
      "leads?email=",
      "report?source=",
      `statement?tenant=${tenant.slug}&source=`,
      "statement?month=",
      "dead?reason=",
      "audit?subject=",
      "find?q=",
    ]
  ) {
    const { status, text } = await stage.get(`/${query}${key.text}`);
    assert.equal(status, 400, query);
    assert.match(text, /It contains an API key/);
    assert.ok(!text.includes(key.text.slice(0, 20)), query);
  }
  const { status, text } = await stage.get(`/leads/${key.text}`);
  assert.equal(status, 404);
  assert.match(text, /This is an API key/);
  assert.ok(!text.includes(key.text.slice(0, 20)));
});
