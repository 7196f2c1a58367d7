import assert from "node:assert/strict";
import { before, test } from "node:test";
import { post } from "../support/client.ts";
import { ctl, type RunningServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createRole, type TestRole } from "../support/actions/actions_process.ts";
import { openStand, type Stand } from "../support/actions/stand.ts";

let stand: Stand;
let role: TestRole;
let server: RunningServer;
let on: { readonly databaseUrl: string };
const keys: Record<string, string> = {};

before(async () => {
  stand = await openStand({ env: { ACTIONS_CLIENT_NAME: "lead-intake" } });
  on = { databaseUrl: stand.database.url };
  await stand.addTenant("box", { sandbox: true });
  await stand.addTenant("later");
  for (const tenant of ["acme", "box", "later"]) {
    keys[tenant] = (await ctl(["key", "issue", tenant, "--label", "partner-x"], on)).key;
  }
  role = await createRole(stand.database.url, "lead_service");
  server = await startServer({
    databaseUrl: role.url,
    env: {
      ACTIONS_URL: `https://localhost:${stand.actions.port}`,
      ACTIONS_CA_FILE: stand.authority.file,
      ACTIONS_CLIENT_CERT_FILE: stand.client.certFile,
      ACTIONS_CLIENT_KEY_FILE: stand.client.keyFile,
      DELIVERY_BACKOFF_BASE_MS: "100",
    },
  });
});

const lead = { first_name: "Ada", last_name: "Lovelace", phone: "5551234567", big: "@" };

let posts = 0;

async function posted(tenant: string): Promise<string> {
  // Another lead each time, or it would be a duplicate.
  const body = JSON.stringify({ ...lead, external_id: String(posts++) }).replace(
    '"@"',
    "12345678901234567890",
  );
  const { status, json } = await post(`${server.url}/v1/intake`, { key: keys[tenant] as string, body });
  assert.equal(status, 202);
  return json.event_id;
}

const delivered = (eventId: string) =>
  until(async () => {
    const shown = await ctl(["lead", "show", eventId], on);
    return shown.delivery.state === "delivered" && shown;
  }, { intervalMs: 200 });

test("a posted lead reaches the CRM and the inbox, every digit as it was sent", async () => {
  const eventId = await posted("acme");
  const shown = await delivered(eventId);
  assert.equal(shown.delivery.attempts.length, 1);
  const call = stand.crm.calls.find(({ headers }) => headers["webhook-id"] === eventId);
  assert.ok(call);
  assert.ok(call.body.includes('"extra":{"big":12345678901234567890}'));
  const { data } = JSON.parse(call.body);
  assert.equal(data.lead.phone, "+15551234567");
  assert.deepEqual(data.flags, ["extra_fields_preserved"]);
  assert.equal(data.received_at, shown.received_at);
  assert.ok(stand.smtp.messages.some(({ raw }) => raw.includes(`<${eventId}@intake.example>`)));
});

test("a lead whose mail is refused at first is mailed later, and the CRM called once", async () => {
  stand.smtp.answers.set("message", "451 later");
  const eventId = await posted("acme");
  await until(() => stand.smtp.messages.filter(({ raw }) => raw.includes(eventId)).length >= 2);
  stand.smtp.answers.clear();
  const shown = await delivered(eventId);
  assert.ok(shown.delivery.attempts.length >= 3);
  assert.equal(stand.crm.calls.filter(({ headers }) => headers["webhook-id"] === eventId).length, 1);
});
