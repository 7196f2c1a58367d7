import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { runCtl } from "../support/server.ts";

let fixture: Fixture;

before(async () => {
  fixture = await openFixture();
  await fixture.addTenant("box", { sandbox: true });
  await fixture.addTenant("bare");
});
beforeEach(() => {
  fixture.crm.answer = status(204);
  fixture.smtp.answers.clear();
});

/** Runs `ctl tenant route … --test` with the service's client certificate. */
function tried(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runCtl(["tenant", "route", ...args, "--test"], {
    databaseUrl: fixture.databaseUrl,
    env: {
      ACTIONS_URL: `https://127.0.0.1:${fixture.actions.port}`,
      ACTIONS_CA_FILE: fixture.authority.file,
      ACTIONS_CLIENT_CERT_FILE: fixture.client.certFile,
      ACTIONS_CLIENT_KEY_FILE: fixture.client.keyFile,
      ...env,
    },
  });
}

async function stored() {
  const [row] = await fixture.sql`
    select (select count(*)::int from event) as events, (select count(*)::int from actions.effect) as effects`;
  return row;
}

test("--test sends a marked, invented lead to each recipient, prints the responses and stores nothing", async () => {
  fixture.crm.answer = (response) => void response.writeHead(201).end("noted");
  const before = await stored();
  const { code, stdout, stderr } = await tried(["acme", "--json"]);
  assert.equal(code, 0, stderr);
  const { tenant, event_id, results } = JSON.parse(stdout);
  assert.equal(tenant, "acme");
  const call = fixture.crm.calls.at(-1);
  assert.equal(call?.headers["webhook-id"], event_id);
  const body = JSON.parse(call?.body ?? "");
  assert.deepEqual([body.type, body.data.test, body.data.event_id], ["route.test", true, event_id]);
  assert.deepEqual([body.data.lead.street_address, body.data.lead.zip], ["100 Example Street", "97201"]);
  const mail = fixture.smtp.messages.at(-1);
  assert.deepEqual(mail?.to, ["<sales@acme.example>"]);
  assert.deepEqual(
    results.map(({ duration_ms: _, ...result }: Record<string, unknown>) => result),
    [
      {
        effect: "crm",
        target: `localhost:${fixture.crm.port}`,
        outcome: "done",
        reason: null,
        status: 201,
        answer: "noted",
      },
      {
        ...results[1],
        duration_ms: undefined,
        effect: "email",
        target: "sales@acme.example",
        outcome: "done",
      },
    ].map((result) => JSON.parse(JSON.stringify(result))),
  );
  assert.deepEqual(await stored(), before);
  const [entry] = await fixture.sql`select action, subject, detail from audit order by id desc limit 1`;
  assert.deepEqual(entry, { action: "tenant.route_test", subject: "acme", detail: { sent: 2, failed: 0 } });
  assert.doesNotMatch(JSON.stringify(fixture.actions.logs), /noted|sales@|hook/);
});

test("POST /v1/tests responds 400 to an invalid test or tenant and 409 to a sandbox", async () => {
  const post = async (body: string) => {
    const { status, json } = await fixture.ask({ method: "POST", path: "/v1/tests", body });
    return [status, json.error];
  };
  assert.deepEqual(await post("[]"), [400, "invalid_test"]);
  assert.deepEqual(await post('{"tenant":"acme"}'), [400, "invalid_test"]);
  assert.deepEqual(await post('{"tenant":"nobody","source":"","form":""}'), [400, "unknown_tenant"]);
  assert.deepEqual(await post('{"tenant":"box","source":"","form":""}'), [409, "sandbox"]);
});
