import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { type EventParts, newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import { openSalesforce, type Salesforce } from "../../support/crm/salesforce.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let salesforce: Salesforce;

before(async () => {
  fixture = await openFixture();
  salesforce = await openSalesforce(fixture.authority.issue({ name: "salesforce.test", use: "server" }));
  await addTenant("sales");
  await addTenant("codes", { state_codes: "yes" });
});
beforeEach(() => {
  salesforce.faults.length = 0;
  Object.assign(salesforce, { hasStatePicklists: false, duplicateRule: "none", leadSources: null });
  Object.assign(salesforce, { isOverLimit: false, validationRule: null });
});

async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}) {
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "salesforce",
    set: { token_url: `${salesforce.url}/services/oauth2/token`, client_id: salesforce.clientId, ...set },
    secrets: { client_secret: salesforce.clientSecret },
  });
}

const fullLead = {
  ...lovelace,
  project_area: "kitchen",
  project_service: "remodel",
  project_details: "The whole kitchen, by spring",
};

/** Delivers a lead, by default to the tenant `sales`. */
function deliver(lead: Readonly<Record<string, string>>, parts: EventParts = {}) {
  return fixture.deliver({ tenant: "sales", content: JSON.stringify(lead), ...parts });
}

const leadsOf = (eventId: string) =>
  salesforce.leads.filter(({ Lead_Event_Id__c }) => Lead_Event_Id__c === eventId);

function leadOf(eventId: string) {
  const leads = leadsOf(eventId);
  assert.equal(leads.length, 1, `${eventId} has ${leads.length} leads`);
  const { Id: _, Lead_Event_Id__c: __, ...fields } = leads[0] ?? {};
  return fields;
}

const isUpsertOf = (eventId: string) => ({ path }: { path: string }) => path.endsWith(`/${eventId}`);

test("a full lead becomes a Salesforce lead with every field, and the rest stands in the description", async () => {
  const { status, json, eventId } = await deliver(fullLead, { source: "partner-x" });
  assert.deepEqual([status, json.effects], [200, { crm: "done", email: "none" }]);
  const { Description, ...fields } = leadOf(eventId);
  assert.deepEqual(fields, {
    FirstName: "Ada",
    LastName: "Lovelace",
    Company: "Ada Lovelace",
    Phone: "+15125550123",
    Email: "ada@example.com",
    Street: "12 Analytical Way",
    City: "Austin",
    State: "TX",
    PostalCode: "78701",
    Country: "US",
    LeadSource: "partner-x",
  });
  for (const part of ["The whole kitchen, by spring", "partner-x", eventId]) {
    assert.ok(Description?.includes(part), `${part} is not in the description`);
  }
});

test("a minimal lead has a last name, a company and a phone", async () => {
  const { eventId } = await deliver({ first_name: "Bo", last_name: "Diaz", phone: "+15125550148" });
  const { Description: _, ...fields } = leadOf(eventId);
  assert.deepEqual(fields, {
    FirstName: "Bo",
    LastName: "Diaz",
    Company: "Bo Diaz",
    Phone: "+15125550148",
    Country: "US",
    LeadSource: "partner-x",
  });
});

test("a form's single name is split, its company is the company, and a form without a name is named by its email", async () => {
  const form = { kind: "form", extra: '{"form_key":"contact"}' } as const;
  const named = await deliver(
    { name: "Ludwig van Beethoven", email: "l@example.com", company: "Bonn & Co", message: "Call me" },
    form,
  );
  const { FirstName, LastName, Company, Email, Description } = leadOf(named.eventId);
  assert.deepEqual(
    [FirstName, LastName, Company, Email],
    ["Ludwig", "van Beethoven", "Bonn & Co", "l@example.com"],
  );
  assert.match(Description ?? "", /Call me/);
  const nameless = leadOf((await deliver({ email: "who@example.com" }, form)).eventId);
  assert.deepEqual([nameless.LastName, nameless.FirstName], ["who@example.com", undefined]);
});

test("a value over Salesforce's length is cut between characters and stands whole in the description", async () => {
  const long = {
    first_name: "é😀".repeat(30),
    last_name: "Ōé😀".repeat(30),
    city: "Łódź ".repeat(20).trim(),
  };
  const { eventId } = await deliver({ ...fullLead, ...long, project_details: "z".repeat(40_000) });
  const { FirstName, LastName, City, Description = "" } = leadOf(eventId);
  assert.equal(FirstName, "é😀".repeat(20));
  assert.equal(LastName, [...long.last_name].slice(0, 80).join(""));
  assert.equal(City, long.city.slice(0, 40).trim());
  assert.ok(Description.includes(long.city), "the city is not whole in the description");
  assert.ok(Description.length <= 32_000 && Description.includes(eventId));
});

test("a lead without an email and with a phone abroad has the phone as E.164", async () => {
  const { eventId } = await deliver({
    ...fullLead,
    email: "",
    phone: "+44 20 7946 0958",
    country: "GB",
    state: "",
  });
  const { Phone, Email, Country } = leadOf(eventId);
  assert.deepEqual([Phone, Email, Country], ["+442079460958", undefined, "GB"]);
});

test("with state_codes, an org with State and Country/Territory Picklists gets codes", async () => {
  salesforce.hasStatePicklists = true;
  const { eventId } = await deliver(fullLead, { tenant: "codes" });
  const { StateCode, CountryCode, State, Country } = leadOf(eventId);
  assert.deepEqual([StateCode, CountryCode, State, Country], ["TX", "US", undefined, undefined]);
});

test("an unmatched state or country is left out and stands in the description", async () => {
  salesforce.hasStatePicklists = true;
  for (const [tenant, state] of [["codes", "Bavaria"], ["sales", "CA"]] as const) {
    const { status, eventId } = await deliver({ ...fullLead, state }, { tenant });
    assert.equal(status, 200);
    const { State, StateCode, Country, CountryCode, City, Description } = leadOf(eventId);
    assert.deepEqual(
      [State, StateCode, Country, CountryCode, City],
      [undefined, undefined, undefined, undefined, "Austin"],
    );
    assert.ok(Description?.includes(state), `${state} is not in the description`);
  }
});

test("an email address or a lead source that Salesforce refuses is left out, and the lead arrives", async () => {
  const email = await deliver({ ...fullLead, email: "ada@exämple.com" });
  assert.deepEqual([email.status, leadOf(email.eventId).Email], [200, undefined]);
  assert.match(leadOf(email.eventId).Description ?? "", /ada@exämple\.com/);
  salesforce.leadSources = ["Web"];
  const source = await deliver(fullLead);
  assert.deepEqual([source.status, leadOf(source.eventId).LeadSource], [200, undefined]);
  assert.equal(leadOf(source.eventId).Email, "ada@example.com");
});

test("a lost answer makes no second lead: the retry updates the same one", async () => {
  const eventId = newEventId();
  salesforce.faults.push({ when: isUpsertOf(eventId), act: "lose" });
  const first = await deliver(fullLead, { eventId });
  assert.deepEqual([first.status, first.json.error, leadsOf(eventId).length], [424, "effects_failed", 1]);
  const second = await deliver(fullLead, { eventId, attempt: 2 });
  assert.deepEqual([second.status, leadsOf(eventId).length], [200, 1]);
});

test("a lost answer to the request without the refused fields makes no second lead", async () => {
  salesforce.hasStatePicklists = true;
  const eventId = newEventId();
  const hasNoState = (body: string) => !("State" in JSON.parse(body));
  salesforce.faults.push({ when: (call) => isUpsertOf(eventId)(call) && hasNoState(call.body), act: "lose" });
  const first = await deliver(fullLead, { eventId });
  assert.deepEqual([first.status, leadsOf(eventId).length], [424, 1]);
  const second = await deliver(fullLead, { eventId, attempt: 2 });
  assert.deepEqual([second.status, leadsOf(eventId).length], [200, 1]);
  // The refused first request is not repeated.
  assert.equal(salesforce.calls.filter(isUpsertOf(eventId)).length, 3);
});

test("a lead that was converted before the retry is done, not refused", async () => {
  const eventId = newEventId();
  salesforce.faults.push({ when: isUpsertOf(eventId), act: "lose" });
  await deliver(fullLead, { eventId });
  Object.assign(leadsOf(eventId)[0] ?? {}, { IsConverted: "true" });
  const { status, json } = await deliver(fullLead, { eventId, attempt: 2 });
  assert.deepEqual([status, json.effects.crm], [200, "done"]);
});

test("a lead that an assignment rule took out of the user's sight before the retry is done, not refused", async () => {
  const eventId = newEventId();
  salesforce.faults.push({ when: isUpsertOf(eventId), act: "lose" });
  await deliver(fullLead, { eventId });
  const message = "duplicate value found: Lead_Event_Id__c duplicates value on record with id: 00Q5e000001";
  const body = [{ message, errorCode: "DUPLICATE_VALUE", fields: [] }];
  salesforce.faults.push({ when: isUpsertOf(eventId), act: { status: 400, body } });
  const { status, json } = await deliver(fullLead, { eventId, attempt: 2 });
  assert.deepEqual([status, json.effects.crm], [200, "done"]);
});

test("a duplicate rule that alerts lets the lead through, and one that blocks refuses it with Salesforce's words", async () => {
  const email = "twice@example.com";
  await deliver({ ...fullLead, email });
  salesforce.duplicateRule = "alert";
  const alerted = await deliver({ ...fullLead, email });
  assert.deepEqual([alerted.status, leadsOf(alerted.eventId).length], [200, 1]);
  salesforce.duplicateRule = "block";
  const { status, json, eventId } = await deliver({ ...fullLead, email });
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: http_400"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /DUPLICATES_DETECTED/);
  assert.equal(leadsOf(eventId).length, 0);
});

test("a validation rule refuses the lead at once with its message, although it names an optional field", async () => {
  salesforce.validationRule = "Ask for a work address";
  const { status, json, eventId } = await deliver(fullLead);
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: http_400"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /Ask for a work address/);
  assert.equal(salesforce.calls.filter(isUpsertOf(eventId)).length, 1);
});

test("an external ID field that does not exist refuses the lead and names the field", async () => {
  await addTenant("fieldless", { external_id_field: "Missing__c" });
  const { json, eventId } = await deliver(fullLead, { tenant: "fieldless" });
  assert.deepEqual([json.error, json.effects.crm], ["effects_refused", "failed: http_404"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /Missing__c/);
});

test("several leads with one event id are refused, because the external ID field is not unique", async () => {
  const eventId = newEventId();
  for (const Id of ["00Q1", "00Q2"]) salesforce.leads.push({ Id, Lead_Event_Id__c: eventId });
  const { json } = await deliver(fullLead, { eventId });
  assert.deepEqual([json.error, json.effects.crm], ["effects_refused", "failed: http_300"]);
});

test("a session that Salesforce ended is replaced by a new token within the attempt", async () => {
  await deliver(fullLead);
  salesforce.expireTokens();
  const { status, eventId } = await deliver(fullLead);
  assert.deepEqual([status, leadsOf(eventId).length], [200, 1]);
  assert.equal((await fixture.crmEffect(eventId)).attempts, 1);
});

test("a refused client secret makes the lead wait with Salesforce's words, and the right secret delivers it", async () => {
  await addTenant("locked");
  await setRecipe(fixture.databaseUrl, "locked", { secrets: { client_secret: "mistyped" } });
  const first = await deliver(fullLead, { tenant: "locked" });
  assert.deepEqual([first.status, first.json.error, first.json.reason], [
    424,
    "effects_waiting",
    "crm_unauthorized",
  ]);
  assert.match((await fixture.crmEffect(first.eventId)).answer, /invalid client credentials/);
  await setRecipe(fixture.databaseUrl, "locked", { secrets: { client_secret: salesforce.clientSecret } });
  const second = await deliver(fullLead, { tenant: "locked", eventId: first.eventId });
  assert.deepEqual([second.status, leadsOf(first.eventId).length], [200, 1]);
});

test("the limit of API calls, which Salesforce answers with 403, is retried and is not a matter of rights", async () => {
  salesforce.isOverLimit = true;
  const { status, json, eventId } = await deliver(fullLead);
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_failed", "failed: http_403"]);
  salesforce.isOverLimit = false;
  assert.equal((await deliver(fullLead, { eventId, attempt: 2 })).status, 200);
});
