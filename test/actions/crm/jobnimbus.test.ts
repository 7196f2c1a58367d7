import assert from "node:assert/strict";
import { before, test } from "node:test";
import { newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { type JobNimbus, startJobNimbus } from "../../support/crm/jobnimbus.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";

let fixture: Fixture;
let vendor: JobNimbus;

before(async () => {
  fixture = await openFixture();
  vendor = await startJobNimbus(fixture.authority.issue({ name: "jobnimbus.test", use: "server" }));
  await addTenant("plain");
});

/** Adds a tenant with an API key of its own. All tenants share one account. */
async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}) {
  vendor.tokens.set(`key-${slug}`, { canCreate: true });
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "jobnimbus",
    set: { record_type_name: "Customer", status_name: "Lead", base_url: `${vendor.url}/api1`, ...set },
    secrets: { token: `key-${slug}` },
  });
  return {
    calls: () => vendor.calls.filter(({ headers }) => headers.authorization === `Bearer key-${slug}`),
  };
}

const contactsOf = (eventId: string) => vendor.contacts.filter((contact) => contact.external_id === eventId);
/** Returns the text of a lead; display names are unique in the account, so each test has its own surname. */
const lead = (lastName: string, more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({ first_name: "Ada", last_name: lastName, phone: "+14155550123", country: "US", ...more });

test("a full lead becomes a contact with its fields, its workflow and its description", async () => {
  const { calls } = await addTenant("full", { source_name: "Web" });
  const content = lead("Lovelace", {
    email: "ada@example.com",
    street_address: "12 Main St",
    city: "Denver",
    state: "CO",
    zip: "80021",
    project_area: "roof",
    project_service: "repair",
    project_details: "Hail\ndamage",
    cost_cents: 4250,
  });
  const { status, json, eventId } = await fixture.deliver({ tenant: "full", content });
  assert.deepEqual([status, json.effects.crm], [200, "done"]);
  const [{ description, jnid: _, type: _type, is_active: _active, is_archived: _archived, ...fields } = {}] =
    contactsOf(eventId);
  assert.deepEqual(fields, {
    external_id: eventId,
    record_type_name: "Customer",
    status_name: "Lead",
    source_name: "Web",
    display_name: "Ada Lovelace",
    first_name: "Ada",
    last_name: "Lovelace",
    email: "ada@example.com",
    mobile_phone: "4155550123",
    address_line1: "12 Main St",
    city: "Denver",
    state_text: "CO",
    zip: "80021",
    country_name: "United States",
  });
  for (const part of ["roof", "repair", "Hail\ndamage", "42.50", eventId]) {
    assert.ok(description.toLowerCase().includes(part.toLowerCase()), part);
  }
  assert.deepEqual(calls().map(({ method }) => method), ["GET", "POST"]);
});

test("a minimal lead without an email becomes a contact without empty fields", async () => {
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content: lead("Minimal") });
  assert.equal(status, 200);
  const [contact] = contactsOf(eventId);
  assert.deepEqual(["email", "city", "source_name"].filter((name) => name in (contact ?? {})), []);
});

test("a form's name is split, and its other fields are in the description", async () => {
  const content = '{"name":"Ada van der Berg","email":"ada@example.com","message":"Call me","roof":"slate"}';
  const form = { tenant: "plain", kind: "form", content, extra: '{"form_key":"contact"}' } as const;
  const { status, eventId } = await fixture.deliver(form);
  assert.equal(status, 200);
  const [contact] = contactsOf(eventId);
  assert.deepEqual([contact?.first_name, contact?.last_name, contact?.email], [
    "Ada",
    "van der Berg",
    "ada@example.com",
  ]);
  for (const part of ["Call me", "slate"]) assert.ok(contact?.description.includes(part), part);
});

test("a form without a name is named by its email, its phone, or Lead", async () => {
  const forms = { '{"email":"nameless@example.com"}': /^nameless@/, '{"phone":"(415) 555-0177"}': /0177$/ };
  for (const [content, name] of Object.entries({ ...forms, '{"message":"Hello"}': /^Lead$/ })) {
    const form = { tenant: "plain", kind: "form", content, extra: '{"form_key":"contact"}' } as const;
    const { status, eventId } = await fixture.deliver(form);
    assert.equal(status, 200);
    assert.match(contactsOf(eventId)[0]?.display_name, name);
  }
});

test("Unicode arrives whole, and a name over 100 characters is cut only for display", async () => {
  const [first, last] = ["Zoë🏠".repeat(20), "Ñúñez李".repeat(14)];
  const details = "🏠é".repeat(8_000);
  const content = lead(last, { first_name: first, project_details: details });
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const [contact] = contactsOf(eventId);
  assert.equal(contact?.display_name, [...`${first} ${last}`].slice(0, 100).join(""));
  assert.deepEqual([contact?.first_name, contact?.last_name], [first, last]);
  assert.ok(contact?.description.includes(details));
});

test("a phone, a state and a country from abroad are sent as they are", async () => {
  const content = lead("Abroad", { phone: "+44 20 7946 0958", state: "Greater London", country: "GB" });
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const [contact] = contactsOf(eventId);
  assert.equal(contact?.mobile_phone.replace(/[^+\d]/g, ""), "+442079460958");
  assert.deepEqual([contact?.state_text, contact?.country_name], ["Greater London", "GB"]);
});

test("contacts whose display name is taken get a number, each a different one", async () => {
  const { calls } = await addTenant("taken");
  const content = lead("Taken");
  const delivered = [];
  for (let count = 0; count < 3; count++) {
    const { status, eventId } = await fixture.deliver({ tenant: "taken", content });
    assert.equal(status, 200);
    delivered.push(eventId);
  }
  const names = delivered.flatMap(contactsOf).map((contact) => contact.display_name);
  assert.equal(names[0], "Ada Taken");
  assert.deepEqual(names.slice(1).map((name) => /^Ada Taken \(\d{1,8}\)$/.test(name)), [true, true]);
  assert.equal(new Set(names).size, 3);
  assert.deepEqual(calls().slice(2).map(({ method }) => method), [
    "GET",
    "POST",
    "POST",
    "GET",
    "POST",
    "POST",
  ]);
});

test("a name over 100 characters that is taken keeps its number", async () => {
  const content = lead("L".repeat(100));
  await fixture.deliver({ tenant: "plain", content });
  const { eventId } = await fixture.deliver({ tenant: "plain", content });
  const [contact] = contactsOf(eventId);
  assert.match(contact?.display_name, /^Ada L{85} \(\d{1,8}\)$/);
});

test("an answer lost at any request doubles nothing on the retry", async () => {
  const content = lead("Lost");
  // The first lead's name is free; the third lead's is taken.
  const losses = [["GET", 1], ["POST", 1], ["POST", 2]] as const;
  for (const [method, nth] of losses) {
    const eventId = newEventId();
    let seen = 0;
    vendor.faults.push({ when: (call) => call.method === method && ++seen === nth, act: "lose" });
    const surname = method === "POST" && nth === 1 ? "Lost-Once" : "Lost";
    const parts = { tenant: "plain", eventId, content: content.replace("Lost", surname) };
    const first = await fixture.deliver(parts);
    assert.deepEqual([first.status, first.json.error], [424, "effects_failed"]);
    assert.equal((await fixture.deliver({ ...parts, attempt: 2 })).status, 200);
    assert.equal(contactsOf(eventId).length, 1);
  }
});

test("sent again, an event finds its contact, unless it was deleted in JobNimbus", async () => {
  const { calls } = await addTenant("again");
  const eventId = newEventId();
  const content = lead("Again");
  vendor.contacts.push({
    jnid: "jn-other",
    display_name: "Ada Again",
    external_id: eventId,
    is_active: true,
  });
  assert.equal((await fixture.deliver({ tenant: "again", content, eventId })).status, 200);
  assert.deepEqual(calls().map(({ method }) => method), ["GET"]);
  const deletedId = newEventId();
  vendor.contacts.push({ jnid: "jn-old", display_name: "Ada Old", external_id: deletedId, is_active: false });
  assert.equal(
    (await fixture.deliver({ tenant: "again", content: lead("Once"), eventId: deletedId })).status,
    200,
  );
  assert.deepEqual(contactsOf(deletedId).map((contact) => contact.display_name), ["Ada Old", "Ada Once"]);
});

test("a workflow, status or source that the account lacks is refused: dead at once, with JobNimbus's words", async () => {
  await addTenant("names", { record_type_name: "Prospect" });
  const corrections = {
    "Invalid record_type_name": { record_type_name: "Customer", status_name: "Won" },
    "Invalid status_name": { status_name: "Lead", source_name: "TV" },
    "Invalid source_name": { source_name: "Referral" },
  };
  for (const [words, set] of Object.entries(corrections)) {
    const { status, json, eventId } = await fixture.deliver({ tenant: "names", content: lead("Names") });
    assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: http_400"]);
    assert.equal((await fixture.crmEffect(eventId)).answer, words);
    await setRecipe(fixture.databaseUrl, "names", { set });
  }
  assert.equal((await fixture.deliver({ tenant: "names", content: lead("Names") })).status, 200);
});

test("an unknown key and a key without the right to create wait as unauthorized until the key is changed", async () => {
  await addTenant("refused");
  vendor.tokens.delete("key-refused");
  vendor.tokens.set("key-read-only", { canCreate: false }).set("key-right", { canCreate: true });
  const parts = { tenant: "refused", content: lead("Refused"), eventId: newEventId() };
  for (const [nextToken, code] of [["key-read-only", 401], ["key-right", 403]] as const) {
    const { status, json } = await fixture.deliver(parts);
    assert.deepEqual([status, json.error, json.reason], [424, "effects_waiting", "crm_unauthorized"]);
    assert.equal((await fixture.crmEffect(parts.eventId)).status, code);
    await setRecipe(fixture.databaseUrl, "refused", { secrets: { token: nextToken } });
  }
  assert.equal((await fixture.deliver(parts)).status, 200);
  assert.equal(contactsOf(parts.eventId).length, 1);
});

test("at a rate limit the event is retried after the time that the answer names", async () => {
  const parts = { tenant: "plain", content: lead("Limit") };
  const answer = { status: 429, headers: { "Retry-After": "9" }, body: "Too Many Requests" };
  vendor.faults.push({ when: ({ method }) => method === "POST", act: answer });
  const first = await fixture.deliver(parts);
  assert.deepEqual([first.status, first.json.effects.crm, first.headers["retry-after"]], [
    424,
    "failed: http_429",
    "9",
  ]);
  assert.equal((await fixture.deliver({ ...parts, eventId: first.eventId, attempt: 2 })).status, 200);
  assert.equal(contactsOf(first.eventId).length, 1);
});
