import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { type EventParts, newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import type { VendorCall } from "../../support/crm/vendor.ts";
import { openZoho, type Zoho } from "../../support/crm/zoho.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let zoho: Zoho;

before(async () => {
  fixture = await openFixture();
  zoho = await openZoho(fixture.authority.issue({ name: "zoho.test", use: "server" }));
  await addTenant("zoho");
  await addTenant("keyed", { event_field: "Event_Id" });
});
beforeEach(() => {
  zoho.faults.length = 0;
  zoho.uniqueFields.splice(0, Infinity, "Event_Id");
  zoho.mandatoryFields.splice(0, Infinity, "Last_Name");
  zoho.tokensIssued = 0;
});

async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}) {
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "zoho",
    set: { token_url: `${zoho.url}/oauth/v2/token`, client_id: zoho.clientId, ...set },
    secrets: { client_secret: zoho.clientSecret, refresh_token: zoho.refreshToken },
  });
}

let counter = 0;

/** Returns a full lead whose email and phone no other lead has. */
function newLead() {
  counter++;
  return {
    ...lovelace,
    phone: `+1512555${1000 + counter}`,
    email: `ada${counter}@example.com`,
    project_details: "The whole kitchen, by spring",
  };
}

/** Delivers a lead, by default to the tenant `zoho`. */
function deliver(lead: Readonly<Record<string, string>>, parts: EventParts = {}) {
  return fixture.deliver({ tenant: "zoho", content: JSON.stringify(lead), ...parts });
}

const notesOf = (eventId: string) => zoho.notes.filter(({ Note_Title }) => Note_Title === `Lead ${eventId}`);

/** Returns the lead with the event's only note. */
function leadOf(eventId: string): Record<string, string> & { note: string } {
  const notes = notesOf(eventId);
  assert.equal(notes.length, 1, `${eventId} has ${notes.length} notes`);
  const { id: _, ...lead } = zoho.leads.find(({ id }) => id === notes[0]?.parent) ?? {};
  return { ...lead, note: notes[0]?.Note_Content ?? "" };
}

const isUpsert = ({ path }: VendorCall) => path === "/crm/v8/Leads/upsert";
const isNewNote = ({ path }: VendorCall) => path === "/crm/v8/Notes";

test("a full lead becomes a Zoho lead with every field and a note that has the rest", async () => {
  const lead = newLead();
  const { status, json, eventId } = await deliver(lead);
  assert.deepEqual([status, json.effects], [200, { crm: "done", email: "none" }]);
  const { note, ...fields } = leadOf(eventId);
  assert.deepEqual(fields, {
    First_Name: "Ada",
    Last_Name: "Lovelace",
    Email: lead.email,
    Phone: lead.phone,
    Street: "12 Analytical Way",
    City: "Austin",
    State: "TX",
    Zip_Code: "78701",
    Country: "US",
  });
  for (const part of ["The whole kitchen, by spring", "partner-x", eventId]) {
    assert.ok(note.includes(part), `${part} is not in the note`);
  }
});

test("company, lead source and assignment rule of the settings are sent", async () => {
  await addTenant("full", { company: "Private", lead_source: "Website", assignment_rule: "415086800000012" });
  const { eventId } = await deliver(newLead(), { tenant: "full" });
  const { Company, Lead_Source } = leadOf(eventId);
  assert.deepEqual([Company, Lead_Source], ["Private", "Website"]);
  assert.match(zoho.calls.findLast(isUpsert)?.body ?? "", /"lar_id":"415086800000012"/);
});

test("a minimal lead has a last name and a phone", async () => {
  const { first_name, last_name, phone } = newLead();
  const { eventId } = await deliver({ first_name, last_name, phone });
  const { note: _, ...fields } = leadOf(eventId);
  assert.deepEqual(fields, { First_Name: "Ada", Last_Name: "Lovelace", Phone: phone, Country: "US" });
});

test("a form's single name is split, its company is the company, and a form without a name is named by its email", async () => {
  const form = { kind: "form", extra: '{"form_key":"contact"}' } as const;
  const named = await deliver(
    { name: "Ludwig van Beethoven", email: "ludwig@example.com", company: "Bonn & Co", message: "Call me" },
    form,
  );
  const { First_Name, Last_Name, Company, note } = leadOf(named.eventId);
  assert.deepEqual([First_Name, Last_Name, Company], ["Ludwig", "van Beethoven", "Bonn & Co"]);
  assert.match(note, /Call me/);
  const nameless = leadOf((await deliver({ email: "who@example.com" }, form)).eventId);
  assert.deepEqual([nameless.Last_Name, nameless.First_Name], ["who@example.com", undefined]);
});

test("a value over Zoho's length is cut between characters and stands whole in the note", async () => {
  const long = {
    first_name: "é😀".repeat(30),
    last_name: "Ōé😀".repeat(30),
    city: "Łódź ".repeat(30).trim(),
  };
  const { eventId } = await deliver({ ...newLead(), ...long, project_details: "z".repeat(40_000) });
  const { First_Name, Last_Name, City, note } = leadOf(eventId);
  assert.equal(First_Name, "é😀".repeat(20));
  assert.equal(Last_Name, [...long.last_name].slice(0, 80).join(""));
  assert.equal(City, long.city.slice(0, 100).trim());
  assert.ok(note.includes(long.city), "the city is not whole in the note");
});

test("a lead abroad has its phone as E.164 and its unusual state as sent", async () => {
  const { eventId } = await deliver({
    ...newLead(),
    phone: "+44 20 7946 0958",
    country: "GB",
    state: "Devon",
  });
  const { Phone, Country, State } = leadOf(eventId);
  assert.deepEqual([Phone, Country, State], ["+442079460958", "GB", "Devon"]);
});

test("an email address or a phone that Zoho refuses is left out, and the lead arrives", async () => {
  const email = "ada@example.c0m";
  const first = await deliver({ ...newLead(), email });
  assert.deepEqual([first.status, leadOf(first.eventId).Email], [200, undefined]);
  assert.ok(leadOf(first.eventId).note.includes(email));
  const second = await deliver({ ...newLead(), phone: "call \"me\"; ask for 'Bo'" });
  assert.deepEqual([second.status, leadOf(second.eventId).Phone], [200, undefined]);
});

test("a second event of the same email updates the lead and adds a note to it", async () => {
  const lead = newLead();
  const first = await deliver(lead);
  const second = await deliver({ ...lead, city: "Berkeley" });
  assert.equal(zoho.leads.filter(({ Email }) => Email === lead.email).length, 1);
  assert.equal(leadOf(second.eventId).City, "Berkeley");
  assert.equal(notesOf(first.eventId)[0]?.parent, notesOf(second.eventId)[0]?.parent);
});

for (
  const { how, tenant, email } of [
    { how: "by email", tenant: "zoho", email: "lost@example.com" },
    { how: "by phone, if there is no email", tenant: "zoho", email: "" },
    { how: "by the event's field, if there is no email", tenant: "keyed", email: "" },
  ]
) {
  test(`a lost answer makes no second lead and no second note: the retry finds it ${how}`, async () => {
    const lead = { ...newLead(), email };
    const eventId = newEventId();
    const leadsBefore = zoho.leads.length;
    const lose = (when: (call: VendorCall) => boolean) => zoho.faults.push({ when, act: "lose" });
    lose(isUpsert);
    const first = await deliver(lead, { eventId, tenant });
    assert.deepEqual([first.status, first.json.error], [424, "effects_failed"]);
    lose(isNewNote);
    const second = await deliver(lead, { eventId, tenant, attempt: 2 });
    assert.deepEqual([second.status, notesOf(eventId).length], [424, 1]);
    const third = await deliver(lead, { eventId, tenant, attempt: 3 });
    assert.deepEqual([third.status, notesOf(eventId).length, zoho.leads.length - leadsBefore], [200, 1, 1]);
  });
}

test("the event id stands in the field of the setting, and a phone in it is not searched", async () => {
  const { email: _, ...lead } = newLead();
  const calls = zoho.calls.length;
  const { eventId } = await deliver(lead, { tenant: "keyed" });
  assert.equal(leadOf(eventId).Event_Id, eventId);
  assert.ok(!zoho.calls.slice(calls).some(({ path }) => path === "/crm/v8/coql"));
});

test("a value that another record holds alone adds the note to that record, a lead or a contact", async () => {
  zoho.uniqueFields.push("Phone");
  const known = newLead();
  await deliver(known);
  // Both the email and the phone match, in two leads.
  const other = newLead();
  await deliver(other);
  const first = await deliver({ ...other, phone: known.phone });
  assert.equal(first.status, 200);
  assert.equal(leadOf(first.eventId).Email, known.email);
  const contact = { id: "41508680000777", Phone: "+15125559999" };
  zoho.contacts.push(contact);
  const second = await deliver({ ...newLead(), phone: contact.Phone });
  assert.equal(second.status, 200);
  assert.deepEqual(notesOf(second.eventId).map(({ module, parent }) => [module, parent]), [[
    "Contacts",
    contact.id,
  ]]);
});

test("a mandatory field of the layout refuses the lead at once with Zoho's words, although the status is 202", async () => {
  zoho.mandatoryFields.push("Company");
  const { status, json, eventId } = await deliver(newLead());
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: crm_refused"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /MANDATORY_NOT_FOUND.*Company/);
});

test("a success without a record is retried, not taken for delivered", async () => {
  const eventId = newEventId();
  zoho.faults.push({ when: isUpsert, act: { status: 200, body: "<html>Maintenance</html>" } });
  const { json } = await deliver(newLead(), { eventId });
  assert.equal(json.error, "effects_failed");
  const mixed = {
    status: 207,
    body: { data: [{ status: "error", code: "INVALID_DATA", details: { api_name: "Last_Name" } }] },
  };
  zoho.faults.push({ when: isUpsert, act: mixed });
  assert.equal((await deliver(newLead())).json.error, "effects_refused");
});

test("a token that Zoho ended is replaced within the attempt, and the token is sent as Zoho-oauthtoken", async () => {
  await deliver(newLead());
  zoho.expireTokens();
  const { status, eventId } = await deliver(newLead());
  assert.deepEqual([status, (await fixture.crmEffect(eventId)).attempts], [200, 1]);
  assert.match(String(zoho.calls.at(-1)?.headers.authorization), /^Zoho-oauthtoken /);
});

test("a refused refresh token, which Zoho answers with 200, makes the lead wait until it is replaced", async () => {
  await addTenant("revoked");
  await setRecipe(fixture.databaseUrl, "revoked", { secrets: { refresh_token: "1000.revoked" } });
  const lead = newLead();
  const first = await deliver(lead, { tenant: "revoked" });
  assert.deepEqual([first.status, first.json.error, first.json.reason], [
    424,
    "effects_waiting",
    "crm_unauthorized",
  ]);
  assert.match((await fixture.crmEffect(first.eventId)).answer, /invalid_code/);
  await setRecipe(fixture.databaseUrl, "revoked", { secrets: { refresh_token: zoho.refreshToken } });
  const second = await deliver(lead, { tenant: "revoked", eventId: first.eventId });
  assert.deepEqual([second.status, notesOf(first.eventId).length], [200, 1]);
});

test("a missing scope and a missing right, which Zoho answers with 401 and 400, make the lead wait", async () => {
  await addTenant("scopeless");
  zoho.scopes.delete("ZohoCRM.coql.READ");
  const { email: _, ...lead } = newLead();
  const first = await deliver(lead, { tenant: "scopeless" });
  assert.equal(first.json.reason, "crm_unauthorized");
  zoho.scopes.add("ZohoCRM.coql.READ");
  await addTenant("rightless");
  const body = {
    code: "AUTHORIZATION_FAILED",
    details: {},
    message: "User does not have sufficient privilege",
    status: "error",
  };
  zoho.faults.push({ when: isUpsert, act: { status: 400, body } });
  const second = await deliver(newLead(), { tenant: "rightless" });
  assert.equal(second.json.reason, "crm_unauthorized");
});

test("too many requests are retried", async () => {
  const [eventId, lead] = [newEventId(), newLead()];
  const body = {
    code: "TOO_MANY_REQUESTS",
    details: {},
    message: "You have made too many requests",
    status: "error",
  };
  zoho.faults.push({ when: isUpsert, act: { status: 429, body } });
  const first = await deliver(lead, { eventId });
  assert.deepEqual([first.status, first.json.error, first.json.effects.crm], [
    424,
    "effects_failed",
    "failed: http_429",
  ]);
  assert.equal((await deliver(lead, { eventId, attempt: 2 })).status, 200);
});
