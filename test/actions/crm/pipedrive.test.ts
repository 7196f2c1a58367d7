import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import {
  type Pipedrive,
  pipedriveError,
  pipedriveRateLimit,
  startPipedrive,
} from "../../support/crm/pipedrive.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import type { VendorCall } from "../../support/crm/vendor.ts";
import { fullLead } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let pipedrive: Pipedrive;

before(async () => {
  fixture = await openFixture();
  pipedrive = await startPipedrive(fixture.authority.issue({ name: "pipedrive.test", use: "server" }));
  for (const name of plain) await addTenant(name);
});
beforeEach(() => {
  clear();
  takeTenant();
});

function clear() {
  for (const list of [pipedrive.persons, pipedrive.leads, pipedrive.notes, pipedrive.faults]) list.length = 0;
}

/** The tenants without settings. Each has its token's own rate limit, so the tests take turns. */
const plain = ["plain-1", "plain-2", "plain-3", "plain-4"];
let tenant = "";

function takeTenant() {
  plain.push(plain.shift() as string);
  tenant = plain[0] as string;
}

/** Adds a tenant, to which leads are then delivered. */
async function addTenant(name: string, set: Readonly<Record<string, string>> = {}) {
  tenant = name;
  const token = `token-of-${name}`;
  pipedrive.tokens.add(token);
  await fixture.addTenant(name);
  await setRecipe(fixture.databaseUrl, name, {
    crm: "pipedrive",
    set: { base_url: pipedrive.url, ...set },
    secrets: { token },
  });
}

const leadOfEmail = { first_name: "Ada", last_name: "Lovelace", email: "ada@example.com" };
const leadOfPhone = { first_name: "Ada", last_name: "Lovelace", phone: "+15125550123", country: "US" };

const deliver = (content: object, parts: Parameters<Fixture["deliver"]>[0] = {}) =>
  fixture.deliver({ tenant, content: JSON.stringify(content), ...parts });

async function deliverOnce(content: object, parts: Parameters<Fixture["deliver"]>[0] = {}) {
  const answer = await deliver(content, parts);
  assert.deepEqual([answer.status, answer.json.effects.crm], [200, "done"]);
  return answer.eventId;
}

const isPost = (path: string) => (call: VendorCall) => call.method === "POST" && call.path === path;
const only = <Item>(items: readonly Item[]): Item => {
  assert.equal(items.length, 1);
  return items[0] as Item;
};
const contacts = ({ emails, phones }: Pipedrive["persons"][number]) =>
  [...emails, ...phones].map(({ value }) => value);

test("a full lead becomes a person, a lead and a note with everything, escaped", async () => {
  const eventId = await deliverOnce(fullLead);
  const { id, name, ...person } = only(pipedrive.persons);
  assert.deepEqual([name, ...contacts({ id, name, ...person })], [
    "Ada Lovelace",
    "ada@example.com",
    "+15125550123",
  ]);
  const lead = only(pipedrive.leads);
  assert.deepEqual([lead.title, lead.person_id, lead.origin_id], [
    "kitchen remodel Ada Lovelace",
    id,
    eventId,
  ]);
  const note = only(pipedrive.notes);
  assert.equal(note.lead_id, lead.id);
  assert.match(note.content, /An island, 3&quot; &lt; 4&quot; &amp; tiles/);
  assert.match(note.content, /12 Analytical Way/);
  assert.match(note.content, new RegExp(`<br>[^<]*${eventId}`));
});

test("a lead without an email address becomes a person with the phone number", async () => {
  await deliverOnce(leadOfPhone);
  assert.deepEqual(contacts(only(pipedrive.persons)), ["+15125550123"]);
  assert.equal(only(pipedrive.leads).title, "Ada Lovelace");
});

test("a form becomes a person, a lead and a note with its message", async () => {
  const submission = {
    name: "Ludwig van Beethoven",
    email: "LVB@example.com",
    message: "Call me\nafter five",
  };
  await deliverOnce(submission, { kind: "form", extra: '{"form_key":"contact"}' });
  assert.equal(only(pipedrive.persons).name, "Ludwig van Beethoven");
  assert.deepEqual(contacts(only(pipedrive.persons)), ["lvb@example.com"]);
  assert.equal(only(pipedrive.leads).title, "Ludwig van Beethoven");
  assert.match(only(pipedrive.notes).content, /Call me<br>after five/);
});

test("a form without a name or contact becomes a person named after its event", async () => {
  const eventId = await deliverOnce({ message: "Hello" }, { kind: "form", source: "website" });
  assert.equal(only(pipedrive.persons).name, `Lead ${eventId}`);
  assert.equal(only(pipedrive.leads).title, "website");
});

test("Unicode arrives unchanged", async () => {
  await deliverOnce({
    ...fullLead,
    first_name: "Zoë",
    last_name: "Łukasz-Ōe 🏠",
    project_details: "日本語 🚿",
  });
  assert.equal(only(pipedrive.persons).name, "Zoë Łukasz-Ōe 🏠");
  assert.match(only(pipedrive.notes).content, /日本語 🚿/);
});

test("a title over Pipedrive's length and a note whose HTML is very long are cut", async () => {
  const lead = { ...fullLead, first_name: "🏠".repeat(100), last_name: "🏠".repeat(100) };
  await deliverOnce({ ...lead, project_details: '"'.repeat(15_000) });
  assert.equal(only(pipedrive.leads).title, `kitchen remodel ${"🏠".repeat(100)} ${"🏠".repeat(3)}`);
  assert.equal(only(pipedrive.persons).name, `${"🏠".repeat(100)} ${"🏠".repeat(19)}`);
  assert.match(only(pipedrive.notes).content, new RegExp("🏠".repeat(100)));
  assert.match(only(pipedrive.notes).content, /&quot;$/);
});

test("a person is found by email address in any case, before one with the same phone number", async () => {
  pipedrive.addPerson({ name: "Household", phone: "+15125550123" });
  const { id } = pipedrive.addPerson({ name: "Ada", email: "ADA@Example.com" });
  await deliverOnce(fullLead);
  assert.deepEqual([only(pipedrive.leads).person_id, pipedrive.persons.length], [id, 2]);
});

test("a person is found by phone number, with or without the country code", async () => {
  for (const phone of ["5125550123", "+15125550123", "1-5125550123"]) {
    clear();
    takeTenant();
    const { id } = pipedrive.addPerson({ name: "Household", phone });
    for (let index = 0; index < 10; index++) pipedrive.addPerson({ name: "Newer" });
    await deliverOnce(fullLead);
    assert.deepEqual([only(pipedrive.leads).person_id, pipedrive.persons.length], [id, 11]);
  }
});

test("a number that only contains the lead's is another person's", async () => {
  pipedrive.addPerson({ name: "Other", phone: "+495125550123" });
  await deliverOnce(leadOfPhone);
  assert.equal(pipedrive.persons.length, 2);
});

test("a phone number from abroad is stored as E.164 and found again", async () => {
  const lead = { ...leadOfPhone, phone: "+49 30 1234567", country: "DE" };
  await deliverOnce(lead);
  assert.deepEqual(contacts(only(pipedrive.persons)), ["+49301234567"]);
  await deliverOnce(lead);
  only(pipedrive.persons);
  assert.equal(pipedrive.leads.length, 2);
});

test("two leads of one person become two leads with a note each", async () => {
  const ids = [await deliverOnce(fullLead), await deliverOnce(fullLead)];
  only(pipedrive.persons);
  assert.deepEqual(pipedrive.leads.map((lead) => lead.origin_id), ids);
  assert.deepEqual(pipedrive.notes.map((note) => note.lead_id), pipedrive.leads.map((lead) => lead.id));
});

test("the settings give the person and the lead an owner, and the lead a label", async () => {
  const label = "f08b42a0-4e75-11ea-9643-03698ef1cfd6";
  await addTenant("settings", { owner_id: "12", label_id: label });
  await deliverOnce(fullLead);
  const lead = only(pipedrive.leads);
  assert.deepEqual([only(pipedrive.persons).owner_id, lead.owner_id, lead.label_ids], [12, 12, [label]]);
});

test("when the answer to any write is lost, the retry doubles nothing, even before the search has caught up", async () => {
  for (const path of ["/api/v2/persons", "/v1/leads", "/v1/notes"]) {
    for (const lead of [fullLead, leadOfEmail, leadOfPhone]) {
      clear();
      takeTenant();
      pipedrive.faults.push({ when: isPost(path), act: "lose" });
      const first = await deliver(lead);
      assert.deepEqual([first.status, first.json.error], [424, "effects_failed"]);
      await deliverOnce(lead, { eventId: first.eventId, attempt: 2 });
      only(pipedrive.persons);
      assert.equal(only(pipedrive.leads).origin_id, first.eventId);
      only(pipedrive.notes);
    }
  }
});

test("a note that is longer than what is read of an answer is not doubled", async () => {
  pipedrive.faults.push({ when: isPost("/v1/notes"), act: "lose" });
  const lead = { ...fullLead, project_details: "語".repeat(30_000) };
  const { eventId } = await deliver(lead);
  await deliverOnce(lead, { eventId, attempt: 2 });
  only(pipedrive.notes);
});

test("a request that Pipedrive refuses is dead at once, with Pipedrive's words", async () => {
  await addTenant("wrong", { owner_id: "999" });
  const { status, json, eventId } = await deliver(fullLead);
  assert.deepEqual([status, json], [424, {
    error: "effects_refused",
    effects: { crm: "failed: http_400", email: "none" },
  }]);
  assert.match((await fixture.crmEffect(eventId)).answer, /"owner_id\\?" is not valid/);
  assert.equal(pipedrive.leads.length, 0);
});

test("a lead waits while the token is refused, the account is unpaid or a limit of the plan is reached", async () => {
  const refusals = [
    pipedriveError(401, "unauthorized access", { errorCode: 401 }),
    pipedriveError(402, "Company account is not open"),
    pipedriveError(403, "Couldn't add the lead. Limit reached.", { code: "feature_capping_leads_limit" }),
  ];
  for (const act of refusals) {
    await addTenant(`waiting-${act.status}`);
    pipedrive.faults.push({ when: isPost("/v1/leads"), act });
    const { status, json, headers } = await deliver(fullLead);
    assert.deepEqual([status, json.error, json.reason], [424, "effects_waiting", "crm_unauthorized"]);
    assert.ok(Number(headers["retry-after"]) > 0);
  }
  assert.equal(pipedrive.leads.length, 0);
});

test("a lead is retried after Pipedrive's limits, and after the time that it names", async () => {
  const spent = { ...pipedriveRateLimit, headers: { ...pipedriveRateLimit.headers, "Retry-After": "7" } };
  for (const act of [pipedriveRateLimit, spent]) {
    clear();
    takeTenant();
    pipedrive.faults.push({ when: isPost("/v1/leads"), act });
    const { json, headers, eventId } = await deliver(fullLead);
    assert.deepEqual([json.error, json.effects.crm], ["effects_failed", "failed: http_429"]);
    const asked: Readonly<Record<string, string>> = act.headers ?? {};
    assert.equal(headers["retry-after"], asked["Retry-After"]);
    await deliverOnce(fullLead, { eventId, attempt: 2 });
    only(pipedrive.leads);
  }
});
