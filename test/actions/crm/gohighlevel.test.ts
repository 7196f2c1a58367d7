import assert from "node:assert/strict";
import { before, test } from "node:test";
import { newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { type HighLevel, startHighLevel, tooManyRequests } from "../../support/crm/gohighlevel.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import type { VendorCall } from "../../support/crm/vendor.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let vendor: HighLevel;

before(async () => {
  fixture = await openFixture();
  vendor = await startHighLevel(fixture.authority.issue({ name: "highlevel.test", use: "server" }));
  await addTenant("plain");
});

const scopes = ["contacts.readonly", "contacts.write"];

/** Adds a tenant whose leads reach a location of its own. */
async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}) {
  vendor.tokens.set(`pit-${slug}`, { locationId: `loc-${slug}`, scopes });
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "gohighlevel",
    set: { location_id: `loc-${slug}`, base_url: vendor.url, ...set },
    secrets: { token: `pit-${slug}` },
  });
  return {
    contacts: () => vendor.contacts.filter(({ locationId }) => locationId === `loc-${slug}`),
    calls: () => vendor.calls.filter(({ headers }) => headers.authorization === `Bearer pit-${slug}`),
  };
}

/** Returns the contact that has the event's note. */
const contactOf = (eventId: string) =>
  vendor.contacts.find(({ notes }) => notes.some(({ body }) => body.includes(eventId)));
const requestsOf = (calls: readonly VendorCall[]) =>
  calls.map(({ method, path }) => `${method} ${path.replace(/contact\d+/, "ID")}`);

const fullLead = JSON.stringify({
  ...lovelace,
  project_area: "kitchen",
  project_service: "remodel",
  project_material: "oak",
  project_details: "New cabinets\n& a <big> island",
  external_id: "L-77",
  cost_cents: 4250,
});

test("a full lead becomes a contact with its fields, its tags and one note", async () => {
  const { contacts, calls } = await addTenant("full", {
    tags: "web lead, , Kitchen",
    contact_source: "Website",
  });
  const { status, json, eventId } = await fixture.deliver({ tenant: "full", content: fullLead });
  assert.deepEqual([status, json.effects.crm], [200, "done"]);
  const [contact] = contacts();
  assert.deepEqual([contact?.fields, contact?.tags], [
    {
      firstName: "Ada",
      lastName: "Lovelace",
      phone: "+15125550123",
      email: "ada@example.com",
      address1: "12 Analytical Way",
      city: "Austin",
      state: "TX",
      postalCode: "78701",
      country: "US",
      source: "Website",
    },
    ["web lead", "kitchen"],
  ]);
  assert.equal(contact?.notes.length, 1);
  for (const part of ["kitchen", "remodel", "oak", "New cabinets\n& a <big> island", "42.50", eventId]) {
    assert.ok(contact?.notes[0]?.body.toLowerCase().includes(part.toLowerCase()), part);
  }
  assert.deepEqual(requestsOf(calls()), [
    "POST /contacts/upsert",
    "POST /contacts/ID/tags",
    "GET /contacts/ID/notes",
    "POST /contacts/ID/notes",
  ]);
});

test("a minimal lead without an email becomes a contact with its source, and no tags are sent", async () => {
  const content = '{"first_name":"Ada","last_name":"Minimal","phone":"+14155550101","country":"US"}';
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const contact = contactOf(eventId);
  assert.deepEqual(contact?.fields, {
    firstName: "Ada",
    lastName: "Minimal",
    phone: "+14155550101",
    country: "US",
    source: "partner-x",
  });
  assert.ok(!vendor.calls.some(({ path }) => path === `/contacts/${contact?.id}/tags`));
});

test("a form's name is split, and its other fields are in the note", async () => {
  const content = '{"name":"Ada van der Berg","email":"form@example.com","message":"Call me","roof":"slate"}';
  const form = { tenant: "plain", kind: "form", content, extra: '{"form_key":"contact"}' } as const;
  const { status, eventId } = await fixture.deliver(form);
  assert.equal(status, 200);
  const contact = contactOf(eventId);
  assert.deepEqual([contact?.fields.firstName, contact?.fields.lastName, contact?.fields.email], [
    "Ada",
    "van der Berg",
    "form@example.com",
  ]);
  for (const part of ["Call me", "slate"]) assert.ok(contact?.notes[0]?.body.includes(part), part);
});

test("Unicode and the longest details arrive whole in the note", async () => {
  const details = "🏠é".repeat(8_000);
  const content = JSON.stringify({
    first_name: "Zoë",
    last_name: "O’Brien-Ñúñez 李",
    phone: "+14155550102",
    country: "US",
    project_details: details,
  });
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const contact = contactOf(eventId);
  assert.deepEqual([contact?.fields.firstName, contact?.fields.lastName], ["Zoë", "O’Brien-Ñúñez 李"]);
  assert.ok(contact?.notes[0]?.body.includes(details));
});

test("a phone abroad is sent as E.164, a state abroad as it is, and a country outside GoHighLevel's list only in the note", async () => {
  const countries = { GB: "GB", UK: undefined, England: undefined };
  for (const [index, [country, sent]] of Object.entries(countries).entries()) {
    const phone = `+44 20 7946 095${index}`;
    const state = "Greater London";
    const content = JSON.stringify({ first_name: "Ada", last_name: "Abroad", phone, state, country });
    const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
    assert.equal(status, 200);
    const contact = contactOf(eventId);
    assert.deepEqual([contact?.fields.phone, contact?.fields.state, contact?.fields.country], [
      phone.replaceAll(" ", ""),
      state,
      sent,
    ]);
    if (country === "England") assert.match(contact?.notes[0]?.body ?? "", /England/);
  }
});

test("a text that is no phone number does not keep out a lead with an email", async () => {
  const lead = {
    first_name: "Ada",
    last_name: "Nophone",
    phone: "ask my wife",
    email: "nophone@example.com",
  };
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content: JSON.stringify(lead) });
  assert.equal(status, 200);
  const contact = contactOf(eventId);
  assert.equal(contact?.fields.phone, undefined);
  assert.match(contact?.notes[0]?.body ?? "", /ask my wife/);
});

test("a known contact keeps its tags and notes, and each of its events adds one tag and one note", async () => {
  const { contacts } = await addTenant("known", { tags: "again" });
  await fixture.deliver({ tenant: "known", content: fullLead });
  const [contact] = contacts();
  assert.ok(contact);
  contact.tags = ["vip", ...contact.tags];
  const content = fullLead.replace("oak", "walnut");
  assert.equal((await fixture.deliver({ tenant: "known", content })).status, 200);
  assert.equal(contacts().length, 1);
  assert.deepEqual(contact.tags, ["vip", "again"]);
  assert.deepEqual(contact.notes.map(({ body }) => /oak|walnut/.exec(body)?.[0]), ["oak", "walnut"]);
});

test("if the email and the phone belong to two contacts, the note on the first has both", async () => {
  const { contacts } = await addTenant("two");
  const lead = { first_name: "Ada", last_name: "Lovelace", country: "US" };
  const byPhone = JSON.stringify({ ...lead, phone: "+14155550123" });
  const byEmail = JSON.stringify({ ...lead, phone: "+14155550199", email: "ada@example.com" });
  const both = JSON.stringify({ ...lead, phone: "+14155550123", email: "ada@example.com" });
  for (const content of [byPhone, byEmail, both]) await fixture.deliver({ tenant: "two", content });
  assert.deepEqual(contacts().map(({ fields, notes }) => [fields.phone, notes.length]), [
    ["+14155550123", 1],
    ["+14155550199", 2],
  ]);
  assert.match(contacts()[1]?.notes[1]?.body ?? "", /415.*555.*0123/);
});

test("an answer lost at any request doubles nothing on the retry", async () => {
  const { contacts, calls } = await addTenant("lost", { tags: "lead" });
  const requests = [/POST .*\/upsert$/, /POST .*\/tags$/, /GET .*\/notes$/, /POST .*\/notes$/];
  for (const [index, request] of requests.entries()) {
    const eventId = newEventId();
    const content = fullLead.replace("0123", `012${index}`).replace("ada@", `ada${index}@`);
    vendor.faults.push({ when: ({ method, path }) => request.test(`${method} ${path}`), act: "lose" });
    const first = await fixture.deliver({ tenant: "lost", content, eventId });
    assert.deepEqual([first.status, first.json.error], [424, "effects_failed"], String(request));
    const before = calls().length;
    assert.equal((await fixture.deliver({ tenant: "lost", content, eventId, attempt: 2 })).status, 200);
    // A finished step is not repeated, except for the search.
    const expected = [
      "POST /contacts/upsert",
      "POST /contacts/ID/tags",
      "GET /contacts/ID/notes",
      "POST /contacts/ID/notes",
    ].slice(Math.min(index, 2), index === 3 ? 3 : 4);
    assert.deepEqual(requestsOf(calls().slice(before)), expected);
  }
  assert.deepEqual(
    contacts().map(({ tags, notes }) => [tags, notes.length]),
    requests.map(() => [["lead"], 1]),
  );
});

test("an event that is refused is dead at once, with GoHighLevel's words", async () => {
  const { status, json, eventId } = await fixture.deliver({
    tenant: "plain",
    kind: "form",
    content: '{"name":"Ada Lovelace"}',
    extra: '{"form_key":"contact"}',
  });
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: http_400"]);
  const stored = await fixture.crmEffect(eventId);
  assert.equal(stored.status, 400);
  assert.match(stored.answer, /Pass at least one of number, email/);
});

test("an invalid token, a missing scope and another location's token wait as unauthorized until the token is changed", async () => {
  const { contacts } = await addTenant("refused");
  const eventId = newEventId();
  const readOnly = { locationId: "loc-refused", scopes: ["contacts.readonly"] };
  vendor.tokens.delete("pit-refused");
  vendor.tokens.set("pit-read-only", readOnly).set("pit-elsewhere", { locationId: "loc-plain", scopes });
  vendor.tokens.set("pit-right", { locationId: "loc-refused", scopes });
  const refusals = [
    ["pit-read-only", 401, /access token is invalid/],
    ["pit-elsewhere", 401, /not authorized for this scope/],
    ["pit-right", 403, /does not have access to this location/],
  ] as const;
  for (const [nextToken, code, words] of refusals) {
    const { status, json } = await fixture.deliver({ tenant: "refused", eventId });
    assert.deepEqual([status, json.error, json.reason, json.effects.crm], [
      424,
      "effects_waiting",
      "crm_unauthorized",
      "waiting: crm_unauthorized",
    ]);
    const stored = await fixture.crmEffect(eventId);
    assert.equal(stored.status, code);
    assert.match(stored.answer, words);
    await setRecipe(fixture.databaseUrl, "refused", { secrets: { token: nextToken } });
  }
  const { status } = await fixture.deliver({ tenant: "refused", eventId });
  assert.deepEqual([status, contacts().length], [200, 1]);
});

test("at its rate limit the event is retried", async () => {
  vendor.faults.push({
    when: ({ method, path }) => method === "POST" && path.endsWith("/notes"),
    act: tooManyRequests,
  });
  const first = await fixture.deliver({ tenant: "plain" });
  assert.deepEqual([first.status, first.json.error, first.json.effects.crm], [
    424,
    "effects_failed",
    "failed: http_429",
  ]);
  assert.equal((await fixture.deliver({ tenant: "plain", eventId: first.eventId, attempt: 2 })).status, 200);
  assert.equal(contactOf(first.eventId)?.notes.length, 1);
});
