import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, test } from "node:test";
import { CheckedPost } from "../../../src/actions/checked_post.ts";
import { runRecipe } from "../../../src/actions/crm/engine.ts";
import { Expressions } from "../../../src/actions/crm/expressions.ts";
import { clocks } from "../../../src/process/deadline_thread.ts";
import { Tokens } from "../../../src/actions/crm/tokens.ts";
import { parseNetworks } from "../../../src/http/addresses.ts";
import { RequestRate } from "../../../src/limiter/request_rate.ts";
import { noEarlierPosts } from "../../../src/store/delivery/earlier_posts.ts";
import { TokenStore } from "../../../src/store/delivery/tokens.ts";
import { openPool } from "../../support/pool.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { acme, event, newEventId, plainLead } from "../../support/actions/event.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import { startVendor, type Vendor, type VendorAnswer, type VendorCall } from "../../support/crm/vendor.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { until } from "../../support/until.ts";

let fixture: Fixture;
let vendor: Vendor;
let answer: (call: VendorCall) => VendorAnswer;
const folder = temporaryFolder("recipes");

before(async () => {
  fixture = await openFixture();
  const certificate = fixture.authority.issue({ name: "crm.test", use: "server" });
  vendor = await startVendor(certificate, (call) => answer(call));
});
beforeEach(() => {
  answer = () => ({ status: 200, body: { id: 7 } });
  vendor.faults.length = 0;
});

const token = "a-secret-token-0123456789";
const settings = {
  token: { secret: true, about: "the token" },
  base_url: { about: "the address" },
  word: { optional: true, about: "any text" },
};
const post = {
  name: "post",
  method: "POST",
  url: "settings.base_url & '/leads'",
  json: "{ 'id': event_id }",
};

/** A search, whose response may change. */
const search = {
  name: "search",
  always: true,
  method: "GET",
  url: "settings.base_url & '/search?id=' & event_id",
};

let tenants = 0;

/** Adds a tenant whose CRM route is a recipe with these steps, and returns its slug. */
async function tenantWith(
  steps: readonly Readonly<Record<string, unknown>>[],
  more: Readonly<Record<string, unknown>> = {},
  route: { email?: string } = {},
): Promise<string> {
  const slug = `engine-${++tenants}`;
  const file = join(folder, `${slug}.json`);
  const recipe = { title: "A test", settings, auth: { kind: "bearer", token: "token" }, steps, ...more };
  writeFileSync(file, JSON.stringify(recipe));
  await fixture.addTenant(slug, route);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: file,
    set: { base_url: vendor.url },
    secrets: { token },
  });
  return slug;
}

const callsOf = (eventId: string) =>
  vendor.calls.filter(({ body, url }) => `${url} ${body}`.includes(eventId));

test("numbers that a double cannot hold reach the CRM with the sender's digits", async () => {
  const tenant = await tenantWith([{
    ...post,
    json: "{ 'id': event_id, 'big': extra.big, 'price': extra.price, 'text': 'n ' & extra.big }",
  }]);
  const { status, eventId } = await fixture.deliver({
    tenant,
    extra: '{"big":12345678901234567890,"price":1.10}',
  });
  assert.equal(status, 200);
  assert.equal(
    callsOf(eventId)[0]?.body,
    `{"id":"${eventId}","big":12345678901234567890,"price":1.10,"text":"n 12345678901234567890"}`,
  );
});

test("a retry starts at the first step that is not finished, with what earlier steps kept", async () => {
  const tenant = await tenantWith([
    { ...post, name: "contact", url: "settings.base_url & '/contacts'", keep: "{ 'contact': body.id }" },
    {
      ...post,
      name: "note",
      url: "settings.base_url & '/contacts/' & kept.contact & '/notes'",
    },
  ]);
  vendor.faults.push({ when: ({ path }) => path.endsWith("/notes"), act: { status: 503 } });
  const first = await fixture.deliver({ tenant });
  assert.equal(first.status, 424);
  assert.deepEqual(first.json, {
    error: "effects_failed",
    effects: { crm: "failed: http_503", email: "none" },
  });
  const { eventId } = first;
  const { version: _, ...progress } = JSON.parse((await fixture.crmEffect(eventId)).progress);
  assert.deepEqual(progress, { next: 1, kept: { contact: { contact: 7 } } });
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 2 })).status, 200);
  assert.deepEqual(callsOf(eventId).map(({ path }) => path), [
    "/contacts",
    "/contacts/7/notes",
    "/contacts/7/notes",
  ]);
});

test("a step that always runs is repeated on each attempt, and what it found is used at once", async () => {
  const tenant = await tenantWith([
    { ...search, keep: "{ 'found': body.found }" },
    { ...post, when: "$not($exists(kept.found))" },
  ]);
  answer = ({ method }) => ({ status: 200, body: method === "GET" ? {} : { id: 7 } });
  vendor.faults.push({ when: ({ method }) => method === "POST", act: "lose" });
  const { eventId, json } = await fixture.deliver({ tenant });
  assert.equal(json.error, "effects_failed");
  answer = ({ method }) => ({ status: 200, body: method === "GET" ? { found: 7 } : {} });
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 2 })).status, 200);
  assert.deepEqual(callsOf(eventId).map(({ method }) => method), ["GET", "POST", "GET"]);
});

test("a step that always runs forgets what its earlier answer had, and later steps keep theirs", async () => {
  const tenant = await tenantWith([
    { ...search, keep: "{ 'contact': body.found }" },
    { ...post, name: "create", when: "$not($exists(kept.contact))", keep: "{ 'contact': body.id }" },
    { ...post, name: "note", url: "settings.base_url & '/notes/' & kept.contact" },
  ]);
  answer = ({ method }) => ({ status: 200, body: method === "GET" ? { found: 7 } : {} });
  vendor.faults.push({ when: ({ path }) => path === "/notes/7", act: { status: 503 } });
  const { eventId } = await fixture.deliver({ tenant });
  // Meanwhile, somebody deletes the contact.
  answer = ({ method }) => ({ status: 200, body: method === "GET" ? {} : { id: 8 } });
  vendor.faults.push({ when: ({ path }) => path === "/notes/8", act: { status: 503 } });
  await fixture.deliver({ tenant, eventId, attempt: 2 });
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 3 })).status, 200);
  assert.deepEqual(callsOf(eventId).map(({ method, path }) => `${method} ${path}`), [
    "GET /search",
    "POST /notes/7",
    "GET /search",
    "POST /leads",
    "POST /notes/8",
    "GET /search",
    "POST /notes/8",
  ]);
});

test("outcome done skips the remaining steps, and an outcome may turn a refusal into a retry", async () => {
  const tenant = await tenantWith([
    { ...post, outcome: "status = 403 and body.code = 'LIMIT' ? 'retry' : body.known ? 'done'" },
    { ...post, name: "more", url: "settings.base_url & '/more'" },
  ]);
  answer = () => ({ status: 403, body: { code: "LIMIT" } });
  const limited = await fixture.deliver({ tenant });
  assert.equal(limited.json.effects.crm, "failed: http_403");
  answer = () => ({ status: 200, body: { known: true } });
  const { eventId, status } = await fixture.deliver({ tenant });
  assert.deepEqual([status, callsOf(eventId).length], [200, 1]);
});

test("a refused lead is dead at once with the CRM's words, and its email is retried without asking the CRM again", async () => {
  const tenant = await tenantWith([post], {}, { email: "sales@engine.example" });
  answer = () => ({ status: 422, body: { message: "phone is not valid" } });
  fixture.smtp.answers.set("message", "451 later");
  const both = await fixture.deliver({ tenant });
  assert.deepEqual(both.json, {
    error: "effects_failed",
    effects: { crm: "failed: http_422", email: "failed: smtp_deferred_451" },
  });
  fixture.smtp.answers.clear();
  const { eventId } = both;
  const again = await fixture.deliver({ tenant, eventId, attempt: 2 });
  assert.deepEqual([again.status, again.json], [424, {
    error: "effects_refused",
    effects: { crm: "failed: http_422", email: "done" },
  }]);
  assert.equal(callsOf(eventId).length, 1);
  const { status, answer: words, is_refused } = await fixture.crmEffect(eventId);
  assert.deepEqual([status, words, is_refused], [422, '{"message":"phone is not valid"}', true]);
});

test("an answer is stored with its first 2,000 bytes and removed by an erasure, with the progress", async () => {
  const tenant = await tenantWith([{ ...post, keep: "{ 'n': 1 }" }, { ...post, name: "more" }]);
  answer = ({ body }) => body.includes("x") ? { status: 200 } : { status: 200 };
  const eventId = newEventId();
  vendor.faults.push(
    { when: () => true, act: { status: 200 } },
    { when: () => true, act: { status: 400, body: "é".repeat(3_000) } },
  );
  await fixture.deliver({ tenant, eventId });
  const stored = await fixture.crmEffect(eventId);
  assert.equal(stored.answer, "é".repeat(1_000));
  await fixture.sql`select remove_content(${[eventId]}::text[], 'erasure')`;
  const { answer: words, progress, reason } = await fixture.crmEffect(eventId);
  assert.deepEqual([words, progress, reason], [null, null, null]);
});

test("401 and 403 spend no attempt; 408, 425, 429 and 5xx are retried, with Retry-After; every other status is final", async () => {
  const tenant = await tenantWith([post]);
  const outcomes: Record<number, string> = {};
  for (const status of [400, 404, 409, 418, 422, 302, 408, 423, 425, 429, 500, 503]) {
    answer = () => ({ status, headers: { "Retry-After": "7", Location: `${vendor.url}/elsewhere` } });
    const { json, headers } = await fixture.deliver({ tenant });
    outcomes[status] = `${json.error} ${headers["retry-after"] ?? "-"}`;
    // Otherwise, five refusals in a row would suspend the route.
    await fixture.sql`delete from actions.suspension`;
  }
  const [final, retried] = ["effects_refused -", "effects_failed 7"];
  assert.deepEqual(outcomes, {
    302: final,
    400: final,
    404: final,
    409: final,
    418: final,
    422: final,
    408: retried,
    423: retried,
    425: retried,
    429: retried,
    500: retried,
    503: retried,
  });
  assert.ok(vendor.calls.every(({ path }) => path !== "/elsewhere"), "a redirect is not followed");
  for (const status of [401, 403]) {
    answer = () => ({ status, body: { message: "who are you" } });
    const { json, headers, eventId } = await fixture.deliver({ tenant });
    assert.deepEqual(json, {
      error: "effects_waiting",
      reason: "crm_unauthorized",
      effects: { crm: "waiting: crm_unauthorized", email: "none" },
    });
    assert.ok(Number(headers["retry-after"]) >= 1);
    assert.deepEqual((await fixture.crmEffect(eventId)).answer, '{"message":"who are you"}');
    await fixture.sql`delete from actions.suspension`;
  }
});

test("of an endless answer 64 KiB are read", async () => {
  const tenant = await tenantWith([{
    ...post,
    outcome: "$length($string(body)) = 65536 ? 'done'",
    keep: "{}",
  }, {
    ...post,
    name: "never",
    url: "settings.base_url & '/never'",
  }]);
  answer = ({ path }) => ({ status: 200, body: path === "/never" ? {} : "x".repeat(900_000) });
  const { status, eventId } = await fixture.deliver({ tenant });
  assert.deepEqual([status, callsOf(eventId).length], [200, 1]);
});

test("a hanging CRM delays neither its own leads' emails nor another tenant's leads", async () => {
  const hanging = await tenantWith([post], {}, { email: "sales@engine.example" });
  const other = await tenantWith([post]);
  const release = Promise.withResolvers<void>();
  const held = fixture.crmUrl("/hang");
  fixture.crm.answer = (response) => void release.promise.then(() => response.writeHead(204).end());
  await setRecipe(fixture.databaseUrl, hanging, { set: { base_url: new URL(held).origin } });
  const waiting = Array.from({ length: 20 }, () => fixture.deliverPatiently({ tenant: hanging }));
  assert.equal((await fixture.deliver({ tenant: other })).status, 200);
  const mails = () => fixture.smtp.messages.filter(({ to }) => to.join().includes("sales@engine.example"));
  await until(() => mails().length >= 20);
  release.resolve();
  for (const { json } of await Promise.all(waiting)) assert.equal(json.effects.email, "done");
});

test("a catastrophic regular expression on a lead's text ends no other lead, and the lead is retried", async () => {
  const hostile = await tenantWith([{
    ...post,
    json: "{ 'id': event_id, 'm': $match(lead.project_details, /^(a+)+$/) }",
  }]);
  const other = await tenantWith([post]);
  const content = plainLead.replace("}", `,"project_details":"${"a".repeat(50)}!"}`);
  const [bad, ...good] = await Promise.all([
    fixture.deliver({ tenant: hostile, content }),
    ...Array.from({ length: 5 }, () => fixture.deliverPatiently({ tenant: other })),
  ]);
  assert.deepEqual(bad?.json, {
    error: "effects_failed",
    effects: { crm: "failed: expression_timeout", email: "none" },
  });
  assert.deepEqual(good.map(({ status }) => status), [200, 200, 200, 200, 200]);
  // The tenant's other leads are evaluated in a thread of their own.
  assert.equal((await fixture.deliver({ tenant: hostile })).status, 200);
});

test("endless recursion, huge sequences and huge texts that a lead causes fail that lead only, and call nothing", async () => {
  const tenant = await tenantWith([{
    ...post,
    json: `{ 'id': event_id, 'x': lead.project_material = 'deep' ? ($f := function($x) { 1 + $f($x) }; $f(1))
      : lead.project_material = 'long' ? $pad('', 500000000)
      : lead.project_material = 'many' ? [1..9999999]
      : lead.project_material = 'wide' ? $reduce([1..40], function($a, $b) { $a & $a }, 'aaaaaaaa') }`,
  }]);
  for (const material of ["deep", "long", "many", "wide"]) {
    const content = plainLead.replace("}", `,"project_material":"${material}"}`);
    const { json, eventId } = await fixture.deliver({ tenant, content });
    assert.equal(json.effects.crm, "failed: expression_failed", material);
    assert.match((await fixture.crmEffect(eventId)).answer, /^post\.json: /);
    assert.equal(callsOf(eventId).length, 0);
    await fixture.sql`delete from actions.suspension`;
  }
  assert.equal((await fixture.deliver({ tenant })).status, 200);
});

test("a lead cannot choose the host: its text in a URL leads nowhere else", async () => {
  const tenant = await tenantWith([{ ...post, url: "settings.base_url & lead.project_material" }]);
  for (const material of ["@evil.example/", ".evil.example/", "0/", "?@evil.example"]) {
    const content = plainLead.replace("}", `,"project_material":"${material}"}`);
    const { json, eventId } = await fixture.deliver({ tenant, content });
    const isQuery = material.startsWith("?");
    assert.equal(json.effects.crm, isQuery ? "done" : "failed: host_refused", material);
    assert.equal(callsOf(eventId).length, isQuery ? 1 : 0);
    await fixture.sql`delete from actions.suspension`;
  }
});

test("a recipe cannot reach a network that is not allowed", async () => {
  const tenant = await tenantWith([post]);
  for (const host of ["10.0.0.1", "169.254.169.254", "[::1]", "192.168.1.1"]) {
    await setRecipe(fixture.databaseUrl, tenant, { set: { base_url: `https://${host}` } });
    const { json } = await fixture.deliver({ tenant });
    assert.equal(json.effects.crm, "failed: address_refused", host);
  }
});

test("no secret is in a stored answer or in the process's log, even if the CRM repeats it", async () => {
  const tenant = await tenantWith([{ ...post, headers: { "X-Key": "secrets.token" } }]);
  answer = ({ headers }) => ({
    status: 400,
    body: {
      auth: headers.authorization,
      key: headers["x-key"],
      coded: Buffer.from(token).toString("base64"),
    },
  });
  const { eventId } = await fixture.deliver({ tenant });
  assert.equal(callsOf(eventId)[0]?.headers.authorization, `Bearer ${token}`);
  assert.equal((await fixture.crmEffect(eventId)).answer, '{"auth":"***","key":"***","coded":"***"}');
  const { stdout, stderr } = fixture.actions.output;
  assert.ok(!(stdout + stderr).includes(token) && !(stdout + stderr).includes("Lovelace"));
});

test("a long secret that a failed expression quotes is not in the stored answer", async () => {
  const tenant = await tenantWith([
    { ...post, headers: { "X-Until": "extra.fails ? $toMillis(secrets.token) : 'x'" } },
  ]);
  const long = "Ab1/".repeat(2_000);
  await setRecipe(fixture.databaseUrl, tenant, { secrets: { token: long } });
  const { json, eventId } = await fixture.deliver({ tenant, extra: '{"fails":true}' });
  assert.equal(json.error, "effects_refused");
  const { answer: words } = await fixture.crmEffect(eventId);
  assert.match(words, /^post\.headers\.X-Until: .*\*\*\*/);
  assert.doesNotMatch(words, /Ab1/);
});

test("a published rate is kept, and leads that would wait too long for it wait outside and spend no attempt", async () => {
  const tenant = await tenantWith([post], { rate: { requests: 3, seconds: 60 } });
  const answers = await Promise.all(Array.from({ length: 5 }, () => fixture.deliverPatiently({ tenant })));
  const waiting = answers.filter(({ status }) => status === 424);
  assert.deepEqual(waiting.map(({ json }) => [json.error, json.reason]), [
    ["effects_waiting", "crm_rate"],
    ["effects_waiting", "crm_rate"],
  ]);
  // They come back one after the other.
  const seconds = waiting.map(({ headers }) => Number(headers["retry-after"])).sort((a, b) => a - b);
  assert.ok(seconds[0]! > 58 && seconds[1]! > seconds[0]!, String(seconds));
  assert.equal(answers.filter(({ eventId }) => callsOf(eventId).length > 0).length, 3);
});

test("a plain webhook refuses for good with 410 and 422 only", async () => {
  const outcomes: Record<number, string> = {};
  for (const status of [400, 404, 410, 422, 500]) {
    fixture.crm.answer = (response) => void response.writeHead(status).end();
    outcomes[status] = (await fixture.deliver()).json.error;
  }
  const [again, never] = ["effects_failed", "effects_refused"];
  assert.deepEqual(outcomes, { 400: again, 404: again, 410: never, 422: never, 500: again });
});

test("another recipe starts afresh: what the earlier one finished and kept does not count", async () => {
  const tenant = await tenantWith([
    { ...post, url: "settings.base_url & '/old/' & event_id", keep: "{ 'contact': 'OLD' }" },
    { ...post, name: "more" },
  ]);
  vendor.faults.push({ when: ({ path }) => path === "/leads", act: { status: 503 } });
  const { eventId } = await fixture.deliver({ tenant });
  const file = join(folder, "other.json");
  const steps = [
    { ...post, url: "settings.base_url & '/new/' & event_id", keep: "{ 'contact': 'NEW' }" },
    { ...post, name: "note", json: "{ 'id': event_id, 'contact': kept.contact }" },
  ];
  writeFileSync(
    file,
    JSON.stringify({ title: "Other", settings, auth: { kind: "bearer", token: "token" }, steps }),
  );
  await setRecipe(fixture.databaseUrl, tenant, {
    crm: file,
    set: { base_url: vendor.url },
    secrets: { token },
  });
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 2 })).status, 200);
  const calls = callsOf(eventId).slice(2);
  assert.deepEqual(calls.map(({ path }) => path), [`/new/${eventId}`, "/leads"]);
  assert.match(calls[1]?.body ?? "", /"contact":"NEW"/);
});

test("a lead to which no step applies is done, says so, and is no success of the CRM", async () => {
  const tenant = await tenantWith([{ ...post, when: "lead.zip = '10001'" }]);
  answer = () => ({ status: 422 });
  const zip = (code: string) => plainLead.replace("}", `,"zip":"${code}"}`);
  for (let n = 0; n < 4; n++) {
    assert.equal((await fixture.deliver({ tenant, content: zip("10001") })).json.error, "effects_refused");
    const { status, eventId } = await fixture.deliver({ tenant, content: zip("97201") });
    assert.deepEqual([status, (await fixture.crmEffect(eventId)).answer], [
      200,
      "No step applies; nothing was sent.",
    ]);
  }
  assert.equal((await fixture.deliver({ tenant, content: zip("10001") })).json.error, "effects_refused");
  assert.equal((await fixture.deliver({ tenant, content: zip("10001") })).json.reason, "crm_suspended");
});

test("an answer of which too much is kept fails that lead only, and the actions process is not unavailable", async () => {
  const tenant = await tenantWith([{ ...post, keep: "{ 'all': $string(body) }" }, { ...post, name: "more" }]);
  answer = () => ({ status: 200, body: "€".repeat(21_000) });
  const { status, json, eventId } = await fixture.deliver({ tenant });
  assert.deepEqual([status, json.effects.crm], [424, "failed: expression_failed"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /^post\.keep: keeps more than/);
});

test("an email that failed is not delayed by the time for which the CRM asks", async () => {
  const tenant = await tenantWith([post], {}, { email: "sales@engine.example" });
  answer = () => ({ status: 503, headers: { "Retry-After": "3600" } });
  fixture.smtp.answers.set("message", "451 later");
  const both = await fixture.deliver({ tenant });
  fixture.smtp.answers.clear();
  assert.equal(both.headers["retry-after"], undefined);
  const { headers } = await fixture.deliver({ tenant, eventId: both.eventId, attempt: 2 });
  assert.equal(headers["retry-after"], "3600");
});

test("ids of a CRM that a double cannot hold keep their digits in later steps and attempts", async () => {
  const tenant = await tenantWith([
    { ...post, keep: "{ 'contact': body.id }" },
    {
      ...post,
      name: "note",
      json: "{ 'id': event_id, 'contact': kept.contact, 'path': 'x/' & kept.contact }",
    },
  ]);
  answer = ({ body }) =>
    body.includes("path")
      ? { status: 200 }
      : { status: 200, body: '{"id":12345678901234567891,"price":1.10}' };
  vendor.faults.push({ when: ({ body }) => body.includes("path"), act: { status: 503 } });
  const { eventId } = await fixture.deliver({ tenant });
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 2 })).status, 200);
  const expected = `{"id":"${eventId}","contact":12345678901234567891,"path":"x/12345678901234567891"}`;
  assert.deepEqual(callsOf(eventId).slice(1).map(({ body }) => body), [expected, expected]);
});

test("a slow CRM gets its lead over several attempts, which go on at the unfinished step and never exceed their time", async () => {
  let nowMs = 0;
  const monotonicMs = () => nowMs;
  const post = new CheckedPost({
    allowedNetworks: parseNetworks("127.0.0.0/8"),
    timeoutMs: 10_000,
    resolve: () => Promise.resolve({ addresses: ["127.0.0.1"], ttlMs: null }),
    ca: fixture.authority.pem,
  });
  const expressions = new Expressions(clocks);
  const store = new TokenStore(openPool(fixture.databaseUrl));
  const tokens = new Tokens({ store, post, effectTimeoutMs: 10_000, monotonicMs });
  const rates = new RequestRate();
  const parts = { post, expressions, tokens, rates, effectTimeoutMs: 10_000, monotonicMs };
  const names = ["first", "second", "third", "fourth"];
  const steps = names.map((name) => ({ ...stepTo(name), keep: `{ '${name}': body.id }` }));
  const text = JSON.stringify({ title: "Slow", settings, auth: { kind: "bearer", token: "token" }, steps });
  const lead = event();
  answer = () => {
    nowMs += 9_000;
    return { status: 200, body: { id: 7 } };
  };
  let progress: string | null = null;
  const run = async () => {
    const startedAtMs = nowMs;
    const outcome = await runRecipe({
      event: lead,
      tenant: acme,
      isTest: false,
      earlier: noEarlierPosts,
      progress,
      route: {
        name: "slow",
        text,
        settings: { base_url: vendor.url },
        secrets: { token },
        credential: "c",
        changedAt: "",
      },
      saveProgress: (saved) => Promise.resolve(void (progress = saved)),
    }, parts);
    assert.ok(nowMs - startedAtMs <= 21_000);
    return outcome.kind === "done" ? "done" : `${outcome.kind} ${outcome.reason}`;
  };
  assert.deepEqual([await run(), await run()], ["waiting crm_unfinished", "done"]);
  expressions.close();
  assert.deepEqual(callsOf(lead.eventId).map(({ path }) => path.slice(1)), names);
});

const stepTo = (name: string) => ({ ...post, name, url: `settings.base_url & '/${name}'` });
