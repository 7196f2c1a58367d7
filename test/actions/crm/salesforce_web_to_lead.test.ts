import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { type EventParts, newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import { openWebToLead, type WebToLead } from "../../support/crm/salesforce_web_to_lead.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let salesforce: WebToLead;

before(async () => {
  fixture = await openFixture();
  salesforce = await openWebToLead(fixture.authority.issue({ name: "webto.test", use: "server" }));
  await addTenant("web", { event_field: "00N5e00000Lead1" });
});
beforeEach(() => {
  salesforce.faults.length = 0;
  salesforce.hasStatePicklists = false;
  salesforce.leads.length = 0;
  salesforce.mails.length = 0;
});

async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}) {
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "salesforce_web_to_lead",
    set: { oid: salesforce.oid, base_url: salesforce.url, ...set },
  });
}

const fullLead = {
  ...lovelace,
  project_details: "The whole kitchen, by spring",
};

/** Delivers a lead, by default to the tenant `web`. */
function deliver(lead: Readonly<Record<string, string>>, parts: EventParts = {}) {
  return fixture.deliver({ tenant: "web", content: JSON.stringify(lead), ...parts });
}

/** Returns the only lead, which Salesforce stored without a mail to the lead creator. */
function onlyLead(): Record<string, string> {
  assert.deepEqual([salesforce.leads.length, salesforce.mails], [1, []]);
  const { oid, ...lead } = salesforce.leads[0] ?? {};
  assert.equal(oid, salesforce.oid);
  return lead;
}

test("a full lead is posted as the generated form would post it, with the event id in the field of the setting", async () => {
  const { status, json, eventId } = await deliver(fullLead);
  assert.equal(status, 200);
  assert.equal(json.effects.email, "none");
  const { description, ...fields } = onlyLead();
  assert.deepEqual(fields, {
    first_name: "Ada",
    last_name: "Lovelace",
    company: "Ada Lovelace",
    phone: "+15125550123",
    email: "ada@example.com",
    street: "12 Analytical Way",
    city: "Austin",
    state: "TX",
    zip: "78701",
    country: "US",
    lead_source: "partner-x",
    "00N5e00000Lead1": eventId,
  });
  assert.match(description ?? "", /The whole kitchen, by spring/);
});

test("a minimal lead, and a form that names only an email, have the two fields that Salesforce requires", async () => {
  await deliver({ first_name: "Bo", last_name: "Diaz", phone: "+15125550148" });
  const { last_name, company, email } = onlyLead();
  assert.deepEqual([last_name, company, email], ["Diaz", "Bo Diaz", undefined]);
  salesforce.leads.length = 0;
  await deliver({ email: "who@example.com" }, { kind: "form", extra: '{"form_key":"contact"}' });
  const form = onlyLead();
  assert.deepEqual([form.last_name, form.first_name, form.email], [
    "who@example.com",
    undefined,
    "who@example.com",
  ]);
  assert.ok(form.company);
});

test("a form's name is split, and its text arrives with special characters and line breaks", async () => {
  const message = "A & B = 100 % + ü 😀\nsecond line";
  await deliver({ name: "Jürgen Müller", email: "j@example.com", company: "Müller GmbH", message }, {
    kind: "form",
    extra: '{"form_key":"contact"}',
  });
  const { first_name, last_name, company, description = "" } = onlyLead();
  assert.deepEqual([first_name, last_name, company], ["Jürgen", "Müller", "Müller GmbH"]);
  for (const line of message.split("\n")) {
    assert.ok(description.includes(line), `${line} is not in the description`);
  }
});

test("a value over Salesforce's length is cut, because Salesforce would drop the lead without telling", async () => {
  const city = "Łódź ".repeat(20).trim();
  await deliver({ ...fullLead, first_name: "😀".repeat(60), city, project_details: "z".repeat(40_000) });
  const lead = onlyLead();
  assert.deepEqual([lead.first_name, lead.city], ["😀".repeat(40), city.slice(0, 40).trim()]);
  assert.ok(lead.description?.includes(city));
});

test("a phone abroad is sent as E.164, and a phone or email that does not fit is left to the description", async () => {
  const phone = "+44 20 7946 0958";
  await deliver({ ...fullLead, phone, country: "GB", state: "" });
  assert.equal(onlyLead().phone, "+442079460958");
  salesforce.leads.length = 0;
  const email = `${"a".repeat(90)}@example.com`;
  await deliver({ ...fullLead, phone: "1".repeat(60), email });
  const lead = onlyLead();
  assert.deepEqual([lead.phone, lead.email], [undefined, undefined]);
  assert.ok(lead.description?.includes(email) && lead.description.includes("1".repeat(60)));
});

test("with state_codes, an org with State and Country/Territory Picklists gets codes", async () => {
  salesforce.hasStatePicklists = true;
  await addTenant("codes", { state_codes: "yes" });
  await deliver(fullLead, { tenant: "codes" });
  const { state_code, country_code, state, country } = onlyLead();
  assert.deepEqual([state_code, country_code, state, country], ["TX", "US", undefined, undefined]);
});

test("a wrong organization ID, which Salesforce answers with 200 and a header, refuses the lead", async () => {
  await addTenant("lost", { oid: "00D000000000000" });
  const { status, json } = await deliver(fullLead, { tenant: "lost" });
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: crm_refused"]);
  assert.equal(salesforce.leads.length, 0);
});

test("a server error is retried", async () => {
  const eventId = newEventId();
  salesforce.faults.push({ when: () => true, act: { status: 503 } });
  const { json } = await deliver(fullLead, { eventId });
  assert.deepEqual([json.error, json.effects.crm], ["effects_failed", "failed: http_503"]);
  assert.equal((await deliver(fullLead, { eventId, attempt: 2 })).status, 200);
  assert.equal(salesforce.leads.length, 1);
});

test("a lost answer makes a second lead with the same event id, because Web-to-Lead has no key against repeats", async () => {
  const eventId = newEventId();
  salesforce.faults.push({ when: () => true, act: "lose" });
  assert.equal((await deliver(fullLead, { eventId })).json.error, "effects_failed");
  assert.equal((await deliver(fullLead, { eventId, attempt: 2 })).status, 200);
  assert.deepEqual(salesforce.leads.map((lead) => lead["00N5e00000Lead1"]), [eventId, eventId]);
});

test("a delivered lead is recorded as handed over, because Salesforce confirms nothing", async () => {
  const { eventId } = await deliver(fullLead);
  const effect = await fixture.crmEffect(eventId);
  assert.deepEqual([effect.is_done, effect.status], [true, 200]);
  assert.match(effect.answer, /^Handed over/);
});

test("a delivered lead is not posted again", async () => {
  const { eventId } = await deliver(fullLead);
  assert.equal((await deliver(fullLead, { eventId, attempt: 2 })).status, 200);
  assert.equal(salesforce.leads.length, 1);
});
