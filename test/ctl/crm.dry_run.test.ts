import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { acceptPosts } from "../support/accept.ts";
import { status } from "../support/actions/crm_sink.ts";
import { pipedriveError } from "../support/crm/pipedrive.ts";
import { file, openCrmFixture, otherToken, own, token, tokenFile, word } from "../support/ctl/crm.ts";
import { accept } from "../support/ctl/event.ts";

const { fixture, pipedrive, run, route, freshTenant, pipedriveTenant, lastAudit, assertNoSecret } =
  await openCrmFixture();

beforeEach(() => {
  const { persons, leads, notes, faults, calls } = pipedrive;
  for (const list of [persons, leads, notes, faults, calls as unknown[]]) list.length = 0;
});

interface Shown {
  readonly step: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
  readonly made_up: readonly string[];
}

async function dryRun(slug: string, ...more: string[]): Promise<readonly Shown[]> {
  const { requests, faults, ...others } = await route(slug, "--test", "--dry-run", ...more);
  assert.deepEqual([faults, others], [[], {}]);
  return requests;
}

/** What a test or a dry run must not change. */
async function everything() {
  const [row] = await fixture.sql`
    select (select count(*)::int from event) as events, (select count(*)::int from actions.effect) as effects,
      (select count(*)::int from actions.token) as tokens, (select count(*)::int from audit) as audits`;
  return {
    ...row,
    calls: pipedrive.calls.length + fixture.crm.calls.length,
    mails: fixture.smtp.messages.length,
  };
}

test("--test --dry-run prints each request as it would go out for a sample lead, and sends and stores nothing", async () => {
  const slug = await pipedriveTenant();
  const before = await everything();
  const requests = await dryRun(slug);
  assert.deepEqual(await everything(), before);
  assert.deepEqual(requests.map(({ step, method, url }) => [step, method, url.replace(pipedrive.url, "")]), [
    [
      "person_by_email",
      "GET",
      "/api/v2/persons/search?fields=email&exact_match=true&limit=10&term=test%40example.com",
    ],
    ["person_by_phone", "GET", "/api/v2/persons/search?fields=phone&limit=10&term=5035550100"],
    ["newest_persons", "GET", "/api/v2/persons?sort_by=add_time&sort_direction=desc&limit=10"],
    ["person", "POST", "/api/v2/persons"],
    ["leads", "GET", "/v1/leads?limit=50&sort=add_time%20DESC&person_id=made-up-person-id"],
    ["lead", "POST", "/v1/leads"],
    ["notes", "GET", "/v1/notes?limit=20&lead_id=made-up-lead-id"],
    ["note", "POST", "/v1/notes"],
  ]);
  for (const request of requests) {
    assert.deepEqual(Object.keys(request), ["effect", "step", "method", "url", "headers", "made_up", "body"]);
    assert.equal(request.headers["x-api-token"], "***");
  }
  const [search, , , person, leads, lead] = requests;
  assert.deepEqual([search?.body, search?.made_up], [null, []]);
  assert.deepEqual(person?.body, {
    name: "Test Lead",
    emails: [{ value: "test@example.com", primary: true }],
    phones: [{ value: "+15035550100", primary: true }],
    owner_id: 12,
  });
  assert.equal(person?.headers["Content-Type"], "application/json");
  assert.deepEqual([leads?.made_up, lead?.made_up], [["person_id"], ["person_id"]]);
});

test("the text of a dry run has the requests, their bodies in lines, what is made up, and that nothing was sent", async () => {
  const slug = await pipedriveTenant();
  const { code, stdout, stderr } = await run(["tenant", "route", slug, "--test", "--dry-run"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /^person: POST https:\/\/localhost:\d+\/api\/v2\/persons\n(?: {2}\S+: .*\n)* {2}x-api-token: \*\*\*\n\n {2}\{\n {4}"name": "Test Lead",\n/m,
  );
  assert.match(stdout, /^ {2}\(made up, because only the CRM's responses have it: lead_id\)$/m);
  assert.match(stdout, /\n\nNothing was sent\.\n$/);
  assert.equal(pipedrive.calls.length, 0);
});

/** Stores a lead of a new key of the tenant, or a form's submission, and returns its id. */
async function store(
  slug: string,
  label: string,
  post: { lead: string; extra?: string; form?: string },
): Promise<string> {
  const { lead, extra = null, form } = post;
  const surface = form === undefined ? "intake" : "forms";
  const { stdout } = await run(["key", "issue", slug, "--label", label, "--surface", surface, "--json"]);
  const { id } = JSON.parse(stdout);
  if (form === undefined) return (await accept(fixture.sql, id, { lead, extra })).event_id;
  await run(["form", "add", slug, form, "--required", "name"]);
  const [row] = await fixture.sql<{ id: number }[]>`
    select f.id from form as f join tenant as t on t.id = f.tenant_id where t.slug = ${slug} and form_key = ${form}`;
  const [accepted] = await acceptPosts(fixture.sql, [{
    keyId: Number(id),
    lead,
    raw: lead,
    extra: JSON.stringify({ form_key: form, attribution: { gclid: "g1" } }),
    formId: row?.id as number,
  }]);
  return accepted?.event_id as string;
}

const echo = own({}, {
  headers: { "X-Key": "secrets.token & '/1'" },
  url: "settings.base_url & '/leads?key=' & secrets.token",
  json:
    "{ 'id': event_id, 'name': person.full_name, 'source': source, 'extra': extra, 'gclid': attribution.gclid, 'test': is_test }",
});

test("--event shows the requests of a stored lead, with its digits, over its source's route", async () => {
  const slug = await pipedriveTenant();
  const lead = '{"first_name":"Ada","last_name":"Lovelace","country":"US"}';
  const eventId = await store(slug, "Partner X", {
    lead,
    extra: '{"big":12345678901234567890,"price":1.10}',
  });
  await route(slug, "--source", "Partner X", "--crm", file("echo.json", echo), "--secret", tokenFile());
  const before = await everything();
  const args = ["tenant", "route", slug, "--test", "--dry-run", "--event", eventId];
  const { stdout } = await run([...args, "--json"]);
  assert.match(
    stdout,
    /"body": \{"id":"[0-9a-f]+","name":"Ada Lovelace","source":"Partner X","extra":\{"big":12345678901234567890,"price":1\.10\},"test":false\}/,
  );
  const { requests: [request, ...others] } = JSON.parse(stdout);
  assert.deepEqual(others, []);
  assert.deepEqual([request.body.id, request.url], [eventId, "https://api.crm.example/leads?key=***"]);
  assert.deepEqual([request.headers["X-Key"], request.headers.Authorization], ["***/1", "Bearer ***"]);
  assert.match((await run(args)).stdout, /^ {6}"big": 12345678901234567890,$/m);
  assert.deepEqual(await everything(), before);
});

test("--event shows the requests of a stored form, over its form's route or a named one", async () => {
  const slug = await pipedriveTenant();
  const eventId = await store(slug, "web", { lead: '{"name":"Ada Lovelace","rooms":3}', form: "contact" });
  await route(slug, "--form", "contact", "--crm", file("echo.json", echo), "--secret", tokenFile());
  const [request] = await dryRun(slug, "--event", eventId);
  assert.deepEqual([request?.body.id, request?.body.name, request?.body.gclid], [
    eventId,
    "Ada Lovelace",
    "g1",
  ]);
  const other = await dryRun(slug, "--event", eventId, "--source", "web");
  assert.deepEqual(other.map(({ step }) => step).slice(-2), ["notes", "note"], "the tenant's own route");
});

test("a dry run of an event that is unknown, another tenant's or erased is refused", async () => {
  const slug = await pipedriveTenant();
  const other = await freshTenant();
  const eventId = await store(other, "web", { lead: '{"first_name":"Ada"}' });
  const tried = async (tenant: string, id: string) => {
    const { code, stdout, stderr } = await run([
      "tenant",
      "route",
      tenant,
      "--test",
      "--dry-run",
      "--event",
      id,
    ]);
    return [code, stdout, stderr];
  };
  assert.deepEqual(await tried(slug, "nope"), [1, "", `Tenant ${slug} has no event nope\n`]);
  assert.deepEqual(await tried(slug, eventId), [1, "", `Tenant ${slug} has no event ${eventId}\n`]);
  await fixture.sql`update event set lead = null, extra = null where event_id = ${eventId}`;
  assert.deepEqual(await tried(other, eventId), [1, "", `The content of ${eventId} was removed\n`]);
  assert.equal(pipedrive.calls.length, 0);
});

test("a dry run for a form or a source uses its route, and says if there is none", async () => {
  const slug = await freshTenant();
  const none = await run(["tenant", "route", slug, "--test", "--dry-run"]);
  assert.deepEqual([none.code, none.stderr], [1, `Nothing to test: no route applies to tenant ${slug}\n`]);
  await route(slug, "--form", "contact", "--crm", file("echo.json", echo), "--secret", tokenFile());
  const [request] = await dryRun(slug, "--form", "contact");
  assert.deepEqual([request?.body.name, request?.body.test], ["Test Lead", true]);
  await route(slug, "--email", "sales@acme.example");
  const mail = await run(["tenant", "route", slug, "--test", "--dry-run"]);
  assert.match(
    mail.stdout,
    /^email: SMTP mailto:s…@acme\.example\n {2}To: s…@acme\.example\n {2}Reply-To: test@example\.com\n {2}Subject: Test: .*Nothing was sent\.\n$/s,
  );
});

test("a dry run of OAuth fetches no token, shows the scheme with ***, and marks what only the token's response has", async () => {
  const slug = await freshTenant();
  await route(
    slug,
    "--crm",
    "zoho",
    "--set",
    "client_id=12",
    "--set",
    `token_url=${fixture.crmUrl("/token")}`,
    "--secret",
    `client_secret=${file("client", token)}`,
    "--secret",
    `refresh_token=${file("refresh", otherToken)}`,
  );
  const before = await everything();
  const requests = await dryRun(slug);
  assert.ok(requests.length > 0);
  for (const { url, headers, made_up } of requests) {
    assert.equal(headers.Authorization, "Zoho-oauthtoken ***");
    assert.match(url, /^https:\/\/made-up\.zohoapis\.com\//);
    assert.ok(made_up.includes("api_domain"), `${made_up}`);
  }
  assert.deepEqual(await everything(), before);
});

test("of a webhook's address that is a secret, a dry run shows the host", async () => {
  const slug = await freshTenant();
  await route(
    slug,
    "--crm",
    "webhook_json",
    "--secret",
    `url=${file("url", `https://hooks.example/catch/${word}`)}`,
  );
  const [request] = await dryRun(slug);
  assert.equal(request?.url, "https://hooks.example/***");
});

test("an expression that fails for an event ends the dry run with its place; the exit status is 1", async () => {
  const slug = await freshTenant();
  const steps = [
    ...own().steps,
    { ...own().steps[0], name: "note", json: "{ 'n': lead.first_name = 'Ada' ? $number(lead.first_name) }" },
  ];
  await route(slug, "--crm", file("failing.json", own({ steps })), "--secret", tokenFile());
  assert.equal((await dryRun(slug)).length, 2);
  const eventId = await store(slug, "web", { lead: '{"first_name":"Ada"}' });
  const args = ["tenant", "route", slug, "--test", "--dry-run", "--event", eventId];
  const { code, stdout } = await run([...args, "--json"]);
  const { requests, faults } = JSON.parse(stdout);
  assert.deepEqual([code, requests.length, faults], [1, 1, [
    "note.json: $number needs a number",
  ]]);
  assert.match((await run(args)).stdout, /^The rest cannot be shown: note\.json: \$number needs a number$/m);
});

test("--test sends a marked sample lead to the CRM and prints each response", async () => {
  const slug = await pipedriveTenant();
  const { code, stdout, stderr } = await run(["tenant", "route", slug, "--test"]);
  assert.deepEqual([code, stderr], [0, ""], stdout);
  assert.match(stdout, /^DESTINATION +OUTCOME +STATUS +TIME +RESPONSE\nCRM pipedrive +done +201 +\d+ ms\n/);
  assert.match(
    stdout,
    /^person_by_email: GET https:\/\/localhost:\d+\/api\/v2\/persons\/search\S+ ▸ 200\n {2}\{"success":true,/m,
  );
  assert.match(stdout, /^note: POST https:\/\/localhost:\d+\/v1\/notes ▸ 201\n {2}\{"success":true,/m);
  assert.match(stdout, /\n\nSent as event test[0-9a-f]+, which is not stored\.\n$/);
  assert.equal(pipedrive.persons[0]?.name, "Test Lead");
  assert.equal(pipedrive.notes[0]?.content.match(/is a test/g)?.length, 1, "said once");
  assert.deepEqual(await lastAudit(slug), ["tenant.route_test", { sent: 1, failed: 0 }]);
  const [effects] = await fixture.sql`select count(*)::int as count from actions.effect`;
  assert.equal(effects?.count, 0);
});

test("--test shows the CRM's words if it refuses, without the secret that it quotes; the exit status is 1", async () => {
  const slug = await pipedriveTenant();
  await route(slug, "--secret", `token=${file("other.txt", otherToken)}`);
  const words = `the token ${otherToken} is not valid`;
  pipedrive.faults.push({ when: () => true, act: pipedriveError(401, words) });
  const { code, stdout } = await run(["tenant", "route", slug, "--test", "--json"]);
  assert.equal(code, 1);
  const { results: [result], event_id } = JSON.parse(stdout);
  assert.match(event_id, /^test/);
  assert.deepEqual([result.target, result.outcome, result.reason, result.status], [
    "pipedrive",
    "failed",
    "crm_unauthorized",
    401,
  ]);
  assert.match(result.answer, /the token \*\*\* is not valid/);
  assert.deepEqual(
    result.steps.map(({ step, status, reason }: Record<string, unknown>) => [step, status, reason]),
    [
      ["person_by_email", 401, "crm_unauthorized"],
    ],
  );
  assert.equal(pipedrive.calls.length, 1, "nothing is sent after a refusal");
});

test("--test prints the message of an expression that fails after other steps", async () => {
  const slug = await freshTenant();
  fixture.crm.answer = status(204);
  const set = `base_url=${fixture.crmUrl("")}`;
  const [post] = own().steps;
  const steps = [post, { ...post, name: "note", headers: { "x-name": "tenant = 'sample' ? 'x' : '✓'" } }];
  await route(slug, "--crm", file("header.json", own({ steps })), "--secret", tokenFile(), "--set", set);
  const { code, stdout } = await run(["tenant", "route", slug, "--test"]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^CRM header +failed: expression_failed +- +\d+ ms +note\.headers: must be Latin-1 on one line$/m,
  );
  assert.match(stdout, /^post: POST \S+ ▸ 204$/m);
});

test("--test does not wait for the CRM's rate, and a CRM that does not respond fails by its reason", async () => {
  const slug = await freshTenant();
  await route(
    slug,
    "--crm",
    file("own.json", own()),
    "--secret",
    tokenFile(),
    "--set",
    "base_url=https://localhost:1",
  );
  const { code, stdout } = await run(["tenant", "route", slug, "--test"]);
  assert.equal(code, 1);
  assert.match(stdout, /^CRM own +failed: connection_refused +- +\d+ ms$/m);
  assert.match(stdout, /^post: POST https:\/\/localhost:1\/leads ▸ connection_refused$/m);
});

test("no secret is printed, logged or audited", async () => await assertNoSecret());
