import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { type HubSpot, hubspotError, hubspotRateLimit, startHubSpot } from "../../support/crm/hubspot.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import type { VendorCall } from "../../support/crm/vendor.ts";
import { fullLead } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let hubspot: HubSpot;

before(async () => {
  fixture = await openFixture();
  hubspot = await startHubSpot(fixture.authority.issue({ name: "hubspot.test", use: "server" }));
  for (const name of plain) await addTenant(name);
  await addTenant("deals", { deal_stage: "qualifiedtobuy", deal_pipeline: "default", owner: "12" });
});
beforeEach(() => {
  for (const list of [hubspot.contacts, hubspot.notes, hubspot.deals, hubspot.faults]) list.length = 0;
  plain.push(plain.shift() as string);
  tenant = plain[0] as string;
});

/** The tenants without settings. Each has its token's own rate limit, so the tests take turns. */
const plain = ["plain-1", "plain-2", "plain-3"];
let tenant = "";

/** Adds a tenant, to which leads are then delivered. */
async function addTenant(name: string, set: Readonly<Record<string, string>> = {}) {
  tenant = name;
  const token = `pat-na1-${name}`;
  hubspot.tokens.add(token);
  await fixture.addTenant(name);
  await setRecipe(fixture.databaseUrl, name, {
    crm: "hubspot",
    set: { base_url: hubspot.url, ...set },
    secrets: { token },
  });
}

const leadOfPhone = { first_name: "Ada", last_name: "Lovelace", phone: "+15125550123", country: "US" };

const deliver = (content: object, parts: Parameters<Fixture["deliver"]>[0] = {}) =>
  fixture.deliver({ tenant, content: JSON.stringify(content), ...parts });

async function deliverOnce(content: object, parts: Parameters<Fixture["deliver"]>[0] = {}) {
  const answer = await deliver(content, parts);
  assert.deepEqual([answer.status, answer.json.effects.crm], [200, "done"]);
  return answer.eventId;
}

const isPost = (path: string) => (call: VendorCall) => call.method === "POST" && call.path.endsWith(path);
const contact = () => {
  assert.equal(hubspot.contacts.length, 1);
  return hubspot.contacts[0]?.properties ?? {};
};
const note = () => {
  assert.equal(hubspot.notes.length, 1);
  return hubspot.notes[0]?.properties.hs_note_body ?? "";
};

test("a full lead becomes a contact with its address and a note with everything, escaped", async () => {
  const eventId = await deliverOnce(fullLead);
  assert.deepEqual(contact(), {
    email: "ada@example.com",
    firstname: "Ada",
    lastname: "Lovelace",
    phone: "+15125550123",
    address: "12 Analytical Way",
    city: "Austin",
    state: "TX",
    zip: "78701",
    country: "US",
  });
  assert.match(note(), /An island, 3&quot; &lt; 4&quot; &amp; tiles/);
  assert.match(note(), new RegExp(`<br>[^<]*${eventId}`));
  assert.deepEqual(hubspot.notes[0]?.contacts, [hubspot.contacts[0]?.id]);
  assert.equal(Number(hubspot.notes[0]?.properties.hs_timestamp), Date.parse("2026-09-03T14:05:12.345Z"));
  assert.equal(hubspot.deals.length, 0);
});

test("a lead without an email address becomes a contact with the phone number", async () => {
  await deliverOnce(leadOfPhone);
  assert.deepEqual(contact(), {
    firstname: "Ada",
    lastname: "Lovelace",
    phone: "+15125550123",
    country: "US",
  });
  assert.match(note(), /512/);
});

test("a form's single name, email address and message become a contact and a note", async () => {
  const submission = {
    name: "Ludwig van Beethoven",
    email: "LVB@example.com",
    message: "Call me\nafter five",
  };
  await deliverOnce(submission, { kind: "form", extra: '{"form_key":"contact"}' });
  const { firstname, lastname, email } = contact();
  assert.deepEqual([firstname, lastname, email], ["Ludwig", "van Beethoven", "lvb@example.com"]);
  assert.match(note(), /Call me<br>after five/);
});

test("a form with only a phone number becomes a contact named after it", async () => {
  await deliverOnce({ phone: "(512) 555-0123" }, { kind: "form" });
  assert.deepEqual([contact().lastname, contact().phone], ["+15125550123", "+15125550123"]);
});

test("a form without a contact becomes a contact named after its event", async () => {
  const eventId = await deliverOnce({ message: "Hello" }, { kind: "form" });
  assert.equal(contact().lastname, `Lead ${eventId}`);
});

test("Unicode arrives unchanged", async () => {
  await deliverOnce({
    ...fullLead,
    first_name: "Zoë",
    last_name: "Łukasz-Ōe 🏠",
    project_details: "日本語 🚿",
  });
  assert.deepEqual([contact().firstname, contact().lastname], ["Zoë", "Łukasz-Ōe 🏠"]);
  assert.match(note(), /日本語 🚿/);
});

test("a text whose HTML exceeds HubSpot's limit for notes is cut", async () => {
  await deliverOnce({ ...fullLead, project_details: '"'.repeat(15_000) });
  assert.match(note(), /&quot;$/);
  assert.ok(note().length > 50_000);
});

test("a phone number from abroad is stored as E.164 and only searched as a whole", async () => {
  hubspot.addContact({ lastname: "Other", phone: "301234567" });
  await deliverOnce({ ...leadOfPhone, phone: "+49 30 1234567", country: "DE" });
  assert.equal(hubspot.contacts[1]?.properties.phone, "+49301234567");
  const search = hubspot.calls.findLast(({ path }) => path.endsWith("/search"));
  assert.equal(JSON.parse(search?.body ?? "").filterGroups.length, 2);
});

test("a lead with a known email address updates that contact, except its owner", async () => {
  hubspot.addContact({
    email: "ADA@example.com",
    lastname: "Byron",
    phone: "1",
    hubspot_owner_id: "7",
    city: "London",
  });
  tenant = "deals";
  await deliverOnce(fullLead);
  const { lastname, phone, city, email, hubspot_owner_id: owner } = contact();
  assert.deepEqual([lastname, phone, city, email, owner], [
    "Lovelace",
    "+15125550123",
    "Austin",
    "ADA@example.com",
    "7",
  ]);
  assert.match(note(), /kitchen/i);
  hubspot.contacts.length = 0;
  await deliverOnce(fullLead);
  assert.equal(contact().hubspot_owner_id, "12");
});

test("a lead without an email address is added to the contact that has its phone number in another format", async () => {
  hubspot.addContact({ email: "ada@example.com", lastname: "Byron", mobilephone: "(512) 555-0123" });
  await deliverOnce(leadOfPhone);
  assert.equal(contact().lastname, "Byron");
  assert.match(note(), /Lovelace/);
});

test("a lead whose email address HubSpot refuses keeps its phone number, and its note has the address", async () => {
  await deliverOnce({ ...fullLead, email: "ada@example.c" });
  assert.deepEqual([contact().email, contact().phone], [undefined, "+15125550123"]);
  assert.match(note(), /ada@example\.c/);
});

test("two leads of one person become two notes at one contact", async () => {
  await deliverOnce(fullLead);
  hubspot.notes.forEach(({ properties }) => properties.hs_timestamp = "2026-09-03T14:05:12.346Z");
  await deliverOnce(fullLead);
  assert.deepEqual([hubspot.contacts.length, hubspot.notes.length], [1, 2]);
});

test("a note whose answer was lost is recognized among a hundred others", async () => {
  const { id } = hubspot.addContact({ email: "ada@example.com", lastname: "Lovelace" });
  for (let index = 0; index < 120; index++) {
    const properties = { hs_timestamp: String(1_700_000_000_000 + index), hs_note_body: "x".repeat(2_000) };
    hubspot.notes.push({ id: String(100 + index), properties, contacts: [id], isIndexed: true });
  }
  hubspot.faults.push({ when: isPost("/notes"), act: "lose" });
  const { eventId } = await deliver(fullLead);
  await deliverOnce(fullLead, { eventId, attempt: 2 });
  assert.equal(hubspot.notes.length, 121);
});

test("when the answer to any write is lost, the retry doubles nothing", async () => {
  tenant = "deals";
  const updates = (call: VendorCall) => call.method === "PATCH";
  for (const lost of [isPost("/contacts"), updates, isPost("/notes"), isPost("/deals")]) {
    for (const list of [hubspot.contacts, hubspot.notes, hubspot.deals]) list.length = 0;
    if (lost === updates) hubspot.addContact({ email: "ada@example.com" });
    hubspot.faults.push({ when: lost, act: "lose" });
    const first = await deliver(fullLead);
    assert.deepEqual([first.status, first.json.error], [424, "effects_failed"]);
    await deliverOnce(fullLead, { eventId: first.eventId, attempt: 2 });
    assert.deepEqual([contact().lastname, contact().city], ["Lovelace", "Austin"]);
    assert.match(note(), /kitchen/i);
    assert.equal(hubspot.deals.length, 1);
  }
});

test("a retry for a contact without an email address waits until the search has caught up", async () => {
  hubspot.faults.push({ when: isPost("/contacts"), act: "lose" });
  const { eventId } = await deliver(leadOfPhone);
  const second = await deliver(leadOfPhone, { eventId, attempt: 2 });
  assert.deepEqual([second.status, second.json.error], [424, "effects_failed"]);
  hubspot.index();
  await deliverOnce(leadOfPhone, { eventId, attempt: 3 });
  contact();
  note();
});

test("a minute after the first search, a retry creates the contact that the search does not find", async () => {
  hubspot.faults.push({ when: isPost("/contacts"), act: hubspotError(503, "INTERNAL", "Try again") });
  const { eventId } = await deliver(leadOfPhone);
  const later = { Date: new Date(Date.now() + 61_000).toUTCString() };
  hubspot.faults.push({
    when: isPost("/search"),
    act: { status: 200, headers: later, body: { total: 0, results: [] } },
  });
  await deliverOnce(leadOfPhone, { eventId, attempt: 2 });
  contact();
});

test("with a unique property, leads without an email address find their contact without the search", async () => {
  await addTenant("unique", { unique_property: "lead_phone" });
  hubspot.faults.push({ when: isPost("/upsert"), act: "lose" });
  const first = await deliver(leadOfPhone);
  assert.equal(first.status, 424);
  await deliverOnce(leadOfPhone, { eventId: first.eventId, attempt: 2 });
  await deliverOnce({ ...leadOfPhone, last_name: "Byron" });
  assert.deepEqual([contact().lead_phone, contact().lastname], ["+15125550123", "Byron"]);
  const searches = hubspot.calls.filter(({ path, body }) =>
    path.endsWith("/search") && body.includes("Byron")
  );
  assert.equal(searches.length, 0);
});

test("with a deal stage, each lead also becomes a deal of the contact", async () => {
  tenant = "deals";
  const eventId = await deliverOnce(fullLead);
  assert.deepEqual(hubspot.deals.map(({ properties, contacts }) => ({ ...properties, contacts })), [{
    dealname: "kitchen remodel Ada Lovelace",
    dealstage: "qualifiedtobuy",
    pipeline: "default",
    hubspot_owner_id: "12",
    lead_event_id: eventId,
    contacts: [hubspot.contacts[0]?.id],
  }]);
});

test("a request that HubSpot refuses is dead at once, with HubSpot's words", async () => {
  await addTenant("wrong", { unique_property: "phone", deal_stage: "closed" });
  const refused = await deliver(leadOfPhone);
  assert.deepEqual([refused.status, refused.json], [424, {
    error: "effects_refused",
    effects: { crm: "failed: http_400", email: "none" },
  }]);
  assert.match(
    (await fixture.crmEffect(refused.eventId)).answer,
    /Unable to perform update\/upsert by non-unique 0-1 property/,
  );
  const stage = await deliver(fullLead);
  assert.equal(stage.json.error, "effects_refused");
  assert.match((await fixture.crmEffect(stage.eventId)).answer, /INVALID_OPTION/);
});

test("a lead waits while HubSpot refuses the token or lacks a scope", async () => {
  await addTenant("locked");
  hubspot.tokens.delete("pat-na1-locked");
  const { status, json, headers } = await deliver(fullLead);
  assert.deepEqual([status, json.error, json.reason], [424, "effects_waiting", "crm_unauthorized"]);
  assert.ok(Number(headers["retry-after"]) > 0);

  await addTenant("scopes");
  hubspot.scopes.delete("crm.objects.contacts.write");
  const missing = await deliver(fullLead);
  hubspot.scopes.add("crm.objects.contacts.write");
  assert.deepEqual([missing.json.error, missing.json.reason], ["effects_waiting", "crm_unauthorized"]);
  assert.equal(hubspot.contacts.length, 0);
});

test("a lead is retried after HubSpot's limits and during a migration of the account", async () => {
  const limits = { ...hubspotRateLimit, headers: { ...hubspotRateLimit.headers, "Retry-After": "7" } };
  const migration = { status: 477, headers: { "Retry-After": "3600" }, body: "" };
  for (const act of [hubspotRateLimit, limits, migration]) {
    hubspot.contacts.length = 0;
    hubspot.faults.push({ when: isPost("/contacts"), act });
    const { status, json, headers, eventId } = await deliver(fullLead);
    assert.deepEqual([status, json.error], [424, "effects_failed"]);
    assert.equal(json.effects.crm, `failed: http_${act.status}`);
    const asked: Readonly<Record<string, string>> = act.headers ?? {};
    assert.equal(headers["retry-after"], asked["Retry-After"]);
    await deliverOnce(fullLead, { eventId, attempt: 2 });
    contact();
  }
});
