import assert from "node:assert/strict";
import { before, test } from "node:test";
import { post } from "../support/client.ts";
import { ctl, type RunningServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createRole, type TestRole } from "../support/actions/actions_process.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";

let fixture: Fixture;
let role: TestRole;
let server: RunningServer;
let on: { readonly databaseUrl: string };
let key = "";

before(async () => {
  fixture = await openFixture({ env: { ACTIONS_CLIENT_NAME: "lead-intake" } });
  on = { databaseUrl: fixture.databaseUrl };
  key = (await ctl(["key", "issue", "acme", "--label", "acme-web", "--surface", "forms"], on)).key;
  await ctl(["form", "add", "acme", "contact", "--required", "name,email"], on);
  role = await createRole(fixture.databaseUrl, "lead_service");
  server = await startServer({
    databaseUrl: role.url,
    env: {
      ACTIONS_URL: `https://localhost:${fixture.actions.port}`,
      ACTIONS_CA_FILE: fixture.authority.file,
      ACTIONS_CLIENT_CERT_FILE: fixture.client.certFile,
      ACTIONS_CLIENT_KEY_FILE: fixture.client.keyFile,
      DELIVERY_BACKOFF_BASE_MS: "100",
    },
  });
});

let posts = 0;

/** Posts a form; the text of a JSON object's members goes in as it is. */
async function submit(members: string): Promise<string> {
  const body = `{"name":"Grace Hopper","email":"grace@example.com","nr":${++posts},${members}}`;
  const { status, json } = await post(`${server.urls.forms}/v1/forms/acme/contact`, { key, body });
  assert.equal(status, 202);
  return json.submission_id;
}

const shown = (id: string) => ctl(["lead", "show", id], on);
const delivered = (id: string) =>
  until(async () => {
    const submission = await shown(id);
    return submission.delivery.state === "delivered" && submission;
  }, { intervalMs: 200 });
const calls = (id: string) => fixture.crm.calls.filter(({ headers }) => headers["webhook-id"] === id);
const mails = (id: string) =>
  fixture.smtp.messages.filter(({ raw }) => raw.includes(`<${id}@intake.example>`));

test("a submission reaches the CRM as form.submitted, every digit as it was sent, and the inbox", async () => {
  const id = await submit(
    '"form_key":"x","website":"","big":12345678901234567890,"p":1.10,"page_url":"/?utm_source=ads"',
  );
  const submission = await delivered(id);
  assert.equal(submission.delivery.attempts.length, 1);
  const [call] = calls(id);
  assert.ok(call);
  const { type, data } = JSON.parse(call.body);
  assert.equal(type, "form.submitted");
  assert.deepEqual([data.event_id, data.tenant, data.source, data.received_at, data.flags], [
    id,
    "acme",
    "acme-web",
    submission.received_at,
    [],
  ]);
  assert.deepEqual(Object.keys(data.submission), ["name", "email", "nr", "big", "p", "page_url"]);
  assert.ok(call.body.includes('"big":12345678901234567890,"p":1.10'));
  assert.deepEqual(data.extra, { form_key: "contact", attribution: { utm_source: "ads" } });
  const [mail] = mails(id);
  assert.match(mail?.raw ?? "", /^Subject: New message from the contact form: Grace Hopper\r$/m);
  assert.match(mail?.raw ?? "", /^Reply-To: grace@example\.com\r$/m);
});
