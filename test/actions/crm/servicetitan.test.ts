import assert from "node:assert/strict";
import { before, test } from "node:test";
import { newEventId } from "../../support/actions/event.ts";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { type ServiceTitan, startServiceTitan, tooManyRequests } from "../../support/crm/servicetitan.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

let fixture: Fixture;
let vendor: ServiceTitan;

before(async () => {
  fixture = await openFixture();
  vendor = await startServiceTitan(fixture.authority.issue({ name: "servicetitan.test", use: "server" }));
  await addTenant("plain");
});

/** Adds a tenant with a client of its own. */
async function addTenant(slug: string, set: Readonly<Record<string, string>> = {}, appKey = "ak1.app") {
  vendor.clients.set(`cid.${slug}`, `cs1.${slug}`);
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: "servicetitan",
    set: {
      client_id: `cid.${slug}`,
      tenant_id: vendor.tenantId,
      booking_provider: vendor.provider,
      base_url: vendor.url,
      token_url: `${vendor.url}/connect/token`,
      ...set,
    },
    secrets: { client_secret: `cs1.${slug}`, app_key: appKey },
  });
}

const bookingsOf = (eventId: string) => vendor.bookings.filter((booking) => booking.externalId === eventId);
const isBooking = (method: string) => (call: { method: string; path: string }) =>
  call.method === method && call.path.endsWith("/bookings");

const fullLead = {
  ...lovelace,
  project_area: "kitchen",
  project_service: "repair",
  project_details: "Leak\nunder the sink",
};

test("a full lead becomes a booking with its address and contacts, and ServiceTitan sends no email", async () => {
  await addTenant("full", {
    campaign_id: "12",
    business_unit_id: "34",
    job_type_id: "56",
    booking_source: "Web",
  });
  const { status, json, eventId } = await fixture.deliver({
    tenant: "full",
    content: JSON.stringify(fullLead),
  });
  assert.deepEqual([status, json.effects.crm], [200, "done"]);
  const [{ summary, id: _, status: _status, bookingProviderId: _provider, ...booking } = {}] = bookingsOf(
    eventId,
  );
  assert.deepEqual(booking, {
    externalId: eventId,
    source: "Web",
    name: "Ada Lovelace",
    customerType: "Residential",
    isFirstTimeClient: true,
    isSendConfirmationEmail: false,
    contacts: [{ type: "Phone", value: "5125550123" }, { type: "Email", value: "ada@example.com" }],
    address: { street: "12 Analytical Way", city: "Austin", state: "TX", zip: "78701", country: "US" },
    campaignId: 12,
    businessUnitId: 34,
    jobTypeId: 56,
  });
  for (const part of ["kitchen", "repair", "Leak\nunder the sink", eventId]) {
    assert.ok(summary.toLowerCase().includes(part.toLowerCase()), part);
  }
});

test("a minimal lead without an email becomes a booking with one contact and without an address", async () => {
  const content = '{"first_name":"Ada","last_name":"Lovelace","phone":"+15125550123","country":"US"}';
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const [booking] = bookingsOf(eventId);
  assert.deepEqual(booking?.contacts, [{ type: "Phone", value: "5125550123" }]);
  assert.deepEqual([booking?.source, booking?.address, booking?.campaignId], [
    "partner-x",
    undefined,
    undefined,
  ]);
});

test("an address with a missing part is left out and is in the summary", async () => {
  for (const missing of ["street_address", "city", "state", "zip"] as const) {
    const rest: Partial<typeof fullLead> = { ...fullLead };
    delete rest[missing];
    const { status, eventId } = await fixture.deliver({ tenant: "plain", content: JSON.stringify(rest) });
    assert.equal(status, 200, missing);
    const [booking] = bookingsOf(eventId);
    assert.ok(booking);
    assert.ok(!("address" in booking), missing);
    const values = [rest.street_address, rest.city, rest.state, rest.zip].filter((value) =>
      value !== undefined
    );
    for (const value of values) assert.ok(booking.summary.includes(value), `${missing}: ${value}`);
  }
});

test("a form becomes a booking with the full name, and its other fields are in the summary", async () => {
  const content = '{"name":"Ada van der Berg","email":"ada@example.com","message":"Call me","roof":"slate"}';
  const form = { tenant: "plain", kind: "form", content, extra: '{"form_key":"contact"}' } as const;
  const { status, eventId } = await fixture.deliver(form);
  assert.equal(status, 200);
  const [booking] = bookingsOf(eventId);
  assert.deepEqual([booking?.name, booking?.contacts], [
    "Ada van der Berg",
    [{ type: "Email", value: "ada@example.com" }],
  ]);
  for (const part of ["Call me", "slate"]) assert.ok(booking?.summary.includes(part), part);
});

test("a form without a name, email and phone becomes a booking without contacts", async () => {
  const form = {
    tenant: "plain",
    kind: "form",
    content: '{"message":"Hello"}',
    extra: '{"form_key":"q"}',
  } as const;
  const { status, eventId } = await fixture.deliver(form);
  assert.equal(status, 200);
  assert.deepEqual([bookingsOf(eventId)[0]?.name, bookingsOf(eventId)[0]?.contacts], ["Web lead", []]);
});

test("Unicode, the longest details, a phone abroad and an unknown state arrive whole", async () => {
  const details = "🏠é".repeat(8_000);
  const content = JSON.stringify({
    ...fullLead,
    first_name: "Zoë",
    last_name: "O’Brien-Ñúñez 李",
    phone: "+44 20 7946 0958",
    state: "Greater London",
    country: "GB",
    project_details: details,
  });
  const { status, eventId } = await fixture.deliver({ tenant: "plain", content });
  assert.equal(status, 200);
  const [booking] = bookingsOf(eventId);
  assert.deepEqual([booking?.name, booking?.address.state, booking?.address.country], [
    "Zoë O’Brien-Ñúñez 李",
    "Greater London",
    "GB",
  ]);
  assert.equal(booking?.contacts[0].value.replace(/[^+\d]/g, ""), "+442079460958");
  assert.ok(booking?.summary.includes(details));
});

test("an answer lost at the token, the search or the booking doubles nothing on the retry", async () => {
  await addTenant("lost");
  const losses = {
    token: (call: { path: string }) => call.path === "/connect/token",
    search: isBooking("GET"),
    booking: isBooking("POST"),
  };
  for (const [request, when] of Object.entries(losses)) {
    vendor.faults.push({ when, act: "lose" });
    const first = await fixture.deliver({ tenant: "lost" });
    assert.deepEqual([first.status, first.json.error], [424, "effects_failed"], request);
    const second = await fixture.deliver({ tenant: "lost", eventId: first.eventId, attempt: 2 });
    assert.deepEqual([second.status, bookingsOf(first.eventId).length], [200, 1], request);
  }
});

test("a booking of another event is not taken for this one, should the filter be ignored", async () => {
  const eventId = newEventId();
  const other = { id: 1, externalId: newEventId(), summary: eventId };
  const body = { page: 1, pageSize: 5, hasMore: true, totalCount: null, data: [other] };
  vendor.faults.push({ when: isBooking("GET"), act: { status: 200, body } });
  assert.equal((await fixture.deliver({ tenant: "plain", eventId })).status, 200);
  assert.equal(bookingsOf(eventId).length, 1);
});

test("one token serves several leads, and an expired one is renewed within the attempt", async () => {
  await addTenant("token");
  const tokens = () => vendor.calls.filter((call) => call.body.includes("client_id=cid.token"));
  for (let count = 0; count < 3; count++) {
    assert.equal((await fixture.deliver({ tenant: "token" })).status, 200);
  }
  assert.equal(tokens().length, 1);
  vendor.accessTokens.clear();
  const { status, eventId } = await fixture.deliver({ tenant: "token" });
  assert.deepEqual([status, bookingsOf(eventId).length, tokens().length], [200, 1, 2]);
});

test("a refused client, app key and tenant wait as unauthorized until the route is corrected", async () => {
  await addTenant("refused", { tenant_id: "999" }, "ak1.other");
  vendor.clients.set("cid.refused", "cs1.changed");
  const eventId = newEventId();
  const corrections = [
    { secrets: { client_secret: "cs1.changed" }, code: 400, words: /invalid_client/ },
    { secrets: { app_key: "ak1.app" }, code: 401, words: /ST-App-Key/ },
    { set: { tenant_id: vendor.tenantId }, code: 403, words: /no access to this tenant/ },
  ];
  for (const { code, words, ...correction } of corrections) {
    const { status, json } = await fixture.deliver({ tenant: "refused", eventId });
    assert.deepEqual([status, json.error, json.reason], [424, "effects_waiting", "crm_unauthorized"]);
    const stored = await fixture.crmEffect(eventId);
    assert.equal(stored.status, code);
    assert.match(stored.answer, words);
    await setRecipe(fixture.databaseUrl, "refused", correction);
  }
  assert.equal((await fixture.deliver({ tenant: "refused", eventId })).status, 200);
  assert.equal(bookingsOf(eventId).length, 1);
});

test("a refused booking is dead at once, with ServiceTitan's words", async () => {
  await addTenant("wrong", { campaign_id: "1" });
  const body = { title: "One or more validation errors occurred.", errors: { campaignId: ["Not found"] } };
  vendor.faults.push({ when: isBooking("POST"), act: { status: 400, body } });
  const { status, json, eventId } = await fixture.deliver({ tenant: "wrong" });
  assert.deepEqual([status, json.error, json.effects.crm], [424, "effects_refused", "failed: http_400"]);
  assert.match((await fixture.crmEffect(eventId)).answer, /campaignId/);
  await setRecipe(fixture.databaseUrl, "wrong", { set: { booking_provider: "1" } });
  const unknown = await fixture.deliver({ tenant: "wrong" });
  assert.deepEqual([unknown.json.error, unknown.json.effects.crm], ["effects_refused", "failed: http_404"]);
});

test("at the rate limit the event is retried after the time that the answer names", async () => {
  vendor.faults.push({ when: isBooking("POST"), act: tooManyRequests });
  const first = await fixture.deliver({ tenant: "plain" });
  assert.deepEqual([first.status, first.json.effects.crm, first.headers["retry-after"]], [
    424,
    "failed: http_429",
    "7",
  ]);
  assert.equal((await fixture.deliver({ tenant: "plain", eventId: first.eventId, attempt: 2 })).status, 200);
  assert.equal(bookingsOf(first.eventId).length, 1);
});
