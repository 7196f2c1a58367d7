import assert from "node:assert/strict";
import { test } from "node:test";
import { plain as plainText } from "../support/console/plain.ts";
import { ConsoleStage } from "../support/console/stage.ts";
import { type Pipedrive, pipedriveError, startPipedrive } from "../support/crm/pipedrive.ts";
import { send } from "../support/client.ts";
import { setRecipe } from "../support/crm/recipe_route.ts";
import { runCtl } from "../support/server.ts";
import type { IssuedKey } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const { stage, fixture, env } = await ConsoleStage.openWithActions();
const { testEnv } = stage;
const { databaseUrl } = fixture;
const pipedrive: Pipedrive = await startPipedrive(
  fixture.authority.issue({ name: "pipedrive.test", use: "server" }),
);
const token = "token-of-hunter2";
pipedrive.tokens.add(token);

/** Adds a tenant whose leads go to the CRM, and issues a key. */
async function routed(secret = token): Promise<IssuedKey> {
  const key = await testEnv.issue();
  await setRecipe(databaseUrl, key.tenant.slug, {
    crm: "pipedrive",
    set: { base_url: pipedrive.url },
    secrets: { token: secret },
  });
  return key;
}

/** Returns a page's text without markup. */
async function read(path: string): Promise<string> {
  const { status, text } = await stage.get(path);
  assert.equal(status, 200, path);
  return plain(text);
}

const plain = (text: string) => plainText({ text: text.replaceAll(/<\/(td|h\d)>/g, " ") });

const pageOf = (key: IssuedKey) => `/tenants/${key.tenant.slug}`;

async function dryRun(key: IssuedKey) {
  const path = `${pageOf(key)}/dry-run`;
  return await stage.post(path, [["token", await stage.token(pageOf(key), path)]]);
}

test("a tenant's page lists its routes with the last response of each, and links what it names", async () => {
  const key = await routed();
  assert.match(await read(pageOf(key)), /everything CRM pipedrive none since it was set/);
  assert.match(await read("/tenants"), new RegExp(`${key.tenant.slug} ${key.tenant.slug} active `));
  const eventId = await testEnv.accept(key);
  await until(async () => /done 201/.test(await read(pageOf(key))));
  const { text } = await stage.get(pageOf(key));
  assert.match(text, new RegExp(`href="/leads/${eventId}"`));
  assert.doesNotMatch(text, /hunter2|suspended/);
  for (const path of ["/leads", `/leads/${eventId}`, "/keys", "/tenants"]) {
    assert.ok((await stage.get(path)).text.includes(`href="${pageOf(key)}"`), path);
  }
  assert.equal((await stage.get("/tenants/nobody")).status, 404);
});

test("the dry run shows the requests for the last lead with secrets masked, and sends nothing", async () => {
  const key = await routed();
  const unrouted = await testEnv.issue();
  await stage.held(unrouted, (await testEnv.form({ tenant: unrouted.tenant })).id);
  const madeUp = await dryRun(key);
  assert.equal(madeUp.status, 200);
  assert.match(madeUp.text, /href="\/held">Held <span class="badge">1</);
  assert.match(
    plain(madeUp.text),
    /Dry run for tenant-\d+ The requests for a made-up lead as they would go out\. Nothing was sent/,
  );
  const eventId = await testEnv.accept(key, { first_name: "Zoë", last_name: "<b>Hopper", cost: 12.5 });
  await until(async () => /done 201/.test(await read(pageOf(key))));
  await until(async () => (await testEnv.sql`select from outbox`).length === 0);
  const [calls, before] = [pipedrive.calls.length, await stage.everything()];
  const { status, text } = await dryRun(key);
  assert.equal(status, 200);
  assert.match(text, new RegExp(`Dry run[^]*href="/leads/${eventId}"[^]*Nothing was sent`));
  const shown = plain(text);
  assert.match(
    shown,
    /POST https:\/\/localhost:\d+\/api\/v2\/persons Accept: application\/json .*x-api-token: \*\*\*/,
  );
  assert.match(shown, /"name": "Zoë <b>Hopper"/);
  assert.match(shown, /Made up, because only the CRM's responses have it: person_id/);
  assert.doesNotMatch(text, /hunter2|<b>Hopper/);
  assert.deepEqual([pipedrive.calls.length, await stage.everything()], [calls, before]);

  const other = await routed();
  const path = `${pageOf(key)}/dry-run`;
  const foreign = await stage.token(pageOf(other), `${pageOf(other)}/dry-run`);
  assert.equal((await stage.post(path, [["token", foreign]])).status, 403);
  assert.equal((await stage.post(path, [])).status, 403);
  assert.equal((await stage.get(path)).status, 405);
});

test("a process that serves only the console does dry runs too", async () => {
  const { urls } = await testEnv.start({ ...env, SURFACES: "ops" });
  const key = await routed();
  const request = { localAddress: "127.0.0.1", headers: { "Sec-Fetch-Site": "same-origin" } };
  const { text } = await send(`${urls.ops}${pageOf(key)}`, request);
  const token = /\/dry-run"[^]*?name="token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const reply = await send(`${urls.ops}${pageOf(key)}/dry-run`, {
    ...request,
    method: "POST",
    headers: { ...request.headers, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token }).toString(),
  });
  assert.match(plain(reply.text), /person POST https:\/\/localhost:\d+\/api\/v2\/persons/);
});

test("a lead's page links what is sent of that lead", async () => {
  const key = await routed();
  const first = await testEnv.accept(key, { last_name: "Firstone" });
  await testEnv.accept(key, { last_name: "Secondone" });
  const path = `/leads/${first}/sent`;
  assert.match((await stage.get(`/leads/${first}`)).text, new RegExp(`href="${path}"`));
  const { text } = await stage.get(path);
  assert.match(text, /Firstone/);
  assert.doesNotMatch(text, /Secondone/);
});

test("refused credentials are shown with the CRM's words and the command that helps, until new ones are set", async () => {
  const key = await routed("revoked-token");
  const { slug } = key.tenant;
  const eventIds = [await testEnv.accept(key), await testEnv.accept(key), await testEnv.accept(key)];
  await until(async () => /3 leads wait/.test(await read(pageOf(key))));
  const shown = await read(pageOf(key));
  assert.match(
    shown,
    /The CRM refuses the credentials \(pipedrive\)\. First refused (now|\d+ s ago); 3 leads wait\. Its response to the last try: 401 \{"success":false/,
  );
  assert.ok(shown.includes(`ctl tenant route ${slug} --secret token=-`), shown);
  assert.match(
    shown,
    /CRM pipedrive credentials refused waiting 401 .* crm_unauthorized: the CRM refuses the credentials/,
  );
  assert.match(
    await read("/"),
    new RegExp(
      `The CRM of ${slug} refuses the credentials \\(pipedrive\\).*3 leads wait.*401 \\{"success":false`,
    ),
  );
  assert.match(await read("/tenants"), new RegExp(`${slug} ${slug} CRM credentials refused`));
  const [tried = ""] = (await stage.get(pageOf(key))).text.match(/(?<=href="\/leads\/)[0-9a-z]{30,}/) ?? [];
  assert.match(
    await read(`/leads/${tried}`),
    /CRM to pipedrive waiting 401 .*crm_unauthorized: the CRM refuses/,
  );
  const waiting = eventIds.find((id) => id !== tried) ?? "";
  await until(async () =>
    /pending Next attempt .*crm_unauthorized: the CRM refuses/.test(await read(`/leads/${waiting}`))
  );
  const show = async (id: string) => (await runCtl(["lead", "show", id], { databaseUrl })).stdout;
  assert.match(await show(tried), /CRM to pipedrive +waiting 401 .*, crm_unauthorized: /);
  assert.match(
    await show(waiting),
    /(Next attempt|Due since) .*: crm_unauthorized: the CRM refuses the credentials/,
  );

  await setRecipe(databaseUrl, slug, { secrets: { token } });
  await until(async () => /done 201/.test(await read(pageOf(key))));
  await until(async () =>
    (await Promise.all(eventIds.map((id) => read(`/leads/${id}`)))).every((text) =>
      /CRM to pipedrive done 201/.test(text)
    )
  );
  assert.doesNotMatch(await read(pageOf(key)), /suspended|refuse/);
  assert.doesNotMatch(await read("/"), new RegExp(`CRM of ${slug}`));
});

test("a refused lead is dead at once, and after five the route is shown as suspended", async () => {
  const key = await routed();
  const { slug } = key.tenant;
  const eventIds: string[] = [];
  for (let count = 0; count < 6; count++) {
    pipedrive.faults.push({
      when: ({ method, path }) => method === "POST" && path === "/v1/leads",
      act: pipedriveError(400, "Validation failed: name: is too odd"),
    });
    const id = await testEnv.accept(key);
    eventIds.push(id);
    await until(async () => /dead Delivery|pending Next attempt/.test(await read(`/leads/${id}`)));
  }
  const [dead = "", waits = ""] = [eventIds[0], eventIds[5]];
  const refused = await read(`/leads/${dead}`);
  assert.match(
    refused,
    /CRM to pipedrive refused 400 .*, http_400 ?Response 400 ?content-type: application\/json\s*\{"success":false,"error":"Validation/,
  );
  assert.match(refused, /dead Delivery failed .*crm failed: http_400/);
  assert.match(refused, /the actions tier refused it, crm failed: http_400/);
  const { stdout } = await runCtl(["dead", "show", dead], { databaseUrl });
  assert.match(
    stdout,
    /CRM to pipedrive +refused 400 .*, http_400\n +content-type: application\/json\n +\{"success":false,"error":"Validation/,
  );
  assert.match(await read(`/leads/${waits}`), /crm_suspended: the CRM refused five different leads in a row/);
  assert.match(await read(`/leads/${waits}`), /CRM to pipedrive waiting crm_suspended: the CRM refused/);
  const shown = await read(pageOf(key));
  assert.match(
    shown,
    /The CRM refused five different leads in a row \(pipedrive\)\. .*; 1 lead waits\. .*name: is too odd/,
  );
  assert.ok(shown.includes(`ctl tenant route ${slug} --set NAME=VALUE`), shown);
  assert.match(shown, /CRM pipedrive suspended /);
  assert.match(await read("/tenants"), new RegExp(`${slug} ${slug} CRM suspended`));
  assert.match(
    await read("/"),
    new RegExp(`CRM of ${slug} refused five different leads`),
  );
  pipedrive.faults.length = 0;
});

test("a dry run that cannot be completed says why", async () => {
  const key = await routed();
  await testEnv.sql`
    update actions.route set settings = '{"base_url":"nowhere"}' where tenant_id = ${key.tenant.id}`;
  assert.match(
    plain((await dryRun(key)).text),
    /The rest cannot be shown: \w+\.url: the recipe may not reach this host/,
  );
  await fixture.actions.stop();
  assert.match(
    plain((await dryRun(key)).text),
    /The actions process does not respond: nothing listens at ACTIONS_URL \(ECONNREFUSED\)/,
  );
});
