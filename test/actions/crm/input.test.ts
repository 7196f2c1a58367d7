import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { expressionInput } from "../../../src/actions/crm/input.ts";
import type { Person } from "../../../src/actions/person.ts";
import { summaryText } from "../../../src/notification/summary.ts";
import { withoutInvisible } from "../../../src/notification/content.ts";
import { withoutMarks } from "../../../src/lead/exact_numbers.ts";
import { noEarlierPosts } from "../../../src/store/delivery/earlier_posts.ts";
import { limits } from "../../../src/contract/limits.ts";
import { acme, event, type EventParts } from "../../support/actions/event.ts";
import { messyText, runs } from "../../support/lead/properties.ts";
import { lovelace } from "../../support/crm/lovelace.ts";

const input = (parts: EventParts, isTest = false) => ({
  event: event(parts),
  tenant: acme,
  isTest,
  earlier: noEarlierPosts,
});
// deno-lint-ignore no-explicit-any
const read = (parts: EventParts): any => expressionInput(input(parts));
const leadPerson = (lead: unknown): Person => read({ content: JSON.stringify(lead) }).person;
const formPerson = (fields: unknown): Person =>
  read({ kind: "form", content: JSON.stringify(fields) }).person;
const summary = (parts: EventParts, isTest = false) => summaryText(input(parts, isTest));

/** What a recipe sees of the lead `lovelace`. */
const person = {
  first_name: "Ada",
  last_name: "Lovelace",
  full_name: "Ada Lovelace",
  email: "ada@example.com",
  phone: "+15125550123",
  phone_national: "5125550123",
  street: "12 Analytical Way",
  city: "Austin",
  state: "TX",
  zip: "78701",
  country: "US",
};

test("a lead's person has its fields under short names, with the phone number in two shapes", () => {
  assert.deepEqual(leadPerson(lovelace), person);
});

test("what a lead lacks is absent from its person, except the country", () => {
  assert.deepEqual(leadPerson({ first_name: "Ada", phone: "" }), {
    first_name: "Ada",
    full_name: "Ada",
    country: "US",
  });
  assert.deepEqual(leadPerson({ last_name: "Lovelace", city: "  ", zip: null }), {
    last_name: "Lovelace",
    full_name: "Lovelace",
    country: "US",
  });
});

const phones: readonly (readonly [sent: string, country: string, phone: string, national?: string])[] = [
  ["+15125550123", "US", "+15125550123", "5125550123"],
  ["(512) 555-0123", "US", "+15125550123", "5125550123"],
  ["1-512-555-0123", "CA", "+15125550123", "5125550123"],
  ["512-555-0123", "Somewhere", "+15125550123", "5125550123"],
  ["+44 20 7946 0958", "GB", "+442079460958"],
  ["+44 20 7946 0958", "US", "+442079460958"],
  ["+44 20 7946 0958 ext. 3", "US", "+44 20 7946 0958 ext. 3"],
  ["2079460958", "GB", "2079460958"],
  ["555-0123", "US", "555-0123"],
  ["512-555-0123 x9", "US", "512-555-0123 x9"],
  ["call me", "US", "call me"],
];
for (const [sent, country, phone, national] of phones) {
  test(`phone ${sent} in ${country} is ${phone}, national ${national ?? "none"}`, () => {
    for (
      const person of [leadPerson({ phone: sent, country }), formPerson({ phone: sent, country })]
    ) assert.deepEqual([person.phone, person.phone_national], [phone, national]);
  });
}

test("only what has the shape of an email address is an email", () => {
  for (
    const email of [
      "ada",
      "ada@localhost",
      "a b@example.com",
      "@example.com",
      "ada@example.com, b@example.com",
      "",
    ]
  ) {
    assert.equal(leadPerson({ email }).email, undefined, email);
    assert.equal(formPerson({ email }).email, undefined, email);
  }
  assert.equal(formPerson({ email: " Ada@Example.com " }).email, "ada@example.com");
});

const forms: readonly (readonly [what: string, Readonly<Record<string, unknown>>, Person])[] = [
  [
    "the usual English names",
    {
      "your-name": "Ada Lovelace",
      "E-Mail": "ada@example.com",
      "Phone Number": "512 555 0123",
      Street: "12 Analytical Way",
      City: "Austin",
      State: "TX",
      "Zip Code": "78701",
      message: "Hello",
    },
    person,
  ],
  [
    "first and last name",
    { firstName: "Mary Ann", lastName: "de la Cruz", country: "Canada" },
    { first_name: "Mary Ann", last_name: "de la Cruz", full_name: "Mary Ann de la Cruz", country: "CA" },
  ],
  [
    "Spanish names",
    { Nombre: "Gabriel", Apellidos: "García Márquez", Teléfono: "(512) 555-0123", Ciudad: "Austin" },
    {
      first_name: "Gabriel",
      last_name: "García Márquez",
      full_name: "Gabriel García Márquez",
      phone: "+15125550123",
      phone_national: "5125550123",
      city: "Austin",
    },
  ],
  ["a last name alone", { surname: "Lovelace" }, {
    last_name: "Lovelace",
    full_name: "Lovelace",
  }],
  ["a first name alone", { "first-name": "Ada" }, { last_name: "Ada", full_name: "Ada" }],
  [
    "a full name that repeats the last one",
    { name: "Ada Lovelace", last_name: "lovelace" },
    { first_name: "Ada", last_name: "lovelace", full_name: "Ada Lovelace" },
  ],
  ["a number as the phone", { tel: 5125550123 }, {
    phone: "+15125550123",
    phone_national: "5125550123",
  }],
  ["values that are no texts", { name: ["Ada"], email: { a: 1 }, phone: true, zip: null }, {}],
  ["a state without a country", { state: "TX", tel: "512 555 0123" }, {
    phone: "+15125550123",
    phone_national: "5125550123",
    state: "TX",
    country: "US",
  }],
  ["a ZIP code with a foreign number", { zip: "10115", tel: "+49 30 901820" }, {
    phone: "+4930901820",
    zip: "10115",
  }],
  ["no field that is known", { budget: "low", message: "Ada Lovelace" }, {}],
];
for (const [what, fields, person] of forms) {
  test(`a form's person is found in ${what}`, () => assert.deepEqual(formPerson(fields), person));
}

test("an expression sees what was sent, under the envelope's names, and no attempt", () => {
  const { person: _, summary: __, ...seen } = read({
    eventId: "e1",
    source: "Partner X",
    content: '{"first_name":"Ada","cost_cents":1250}',
    extra: '{"size":1.10}',
    flags: ["phone_unnormalized"],
    attempt: 3,
  });
  assert.deepEqual(seen, {
    event_id: "e1",
    kind: "lead",
    tenant: "acme",
    source: "Partner X",
    received_at: "2026-09-03T14:05:12.345Z",
    lead: { first_name: "Ada", cost_cents: 1250 },
    extra: { size: "\ufdd01.10\ufdd1" },
    flags: ["phone_unnormalized"],
    attribution: {},
    is_test: false,
  });
});

test("a form has a submission and its attribution; a lead's attribution is the sender's and stays in extra", () => {
  const extra = '{"form_key":"contact","attribution":{"utm_source":"ads"}}';
  const { submission, attribution, lead } = read({ kind: "form", content: '{"name":"Ada"}', extra });
  assert.deepEqual([submission, attribution, lead], [{ name: "Ada" }, { utm_source: "ads" }, undefined]);
  const asLead = read({ extra });
  assert.deepEqual([asLead.attribution, asLead.extra.attribution], [{}, { utm_source: "ads" }]);
});

test("a campaign is there only if the key has one", () => {
  assert.equal("campaign" in read({}), false);
  assert.equal(read({ campaign: "spring" }).campaign, "spring");
});

test("the summary of a lead has everything that was sent, with labels", () => {
  const text = summary({
    eventId: "e1",
    source: "Partner X",
    content: JSON.stringify({
      ...lovelace,
      project_area: "kitchen",
      project_service: "remodel",
      project_material: "oak",
      project_details: 'An island.\n3" < 4" & tiles',
      external_id: "lead-77",
      cost_cents: 1250,
    }),
    extra: JSON.stringify({
      xxTrustedFormCertUrl: "https://cert.trustedform.com/0123456789abcdef",
      jornaya_lead_id: "5D6F7A80-1111-2222",
      tcpa_text: "I agree to be called.",
      rooms: ["kitchen", "bath"],
      budget: { low: 1000, high: 2000 },
      empty: "",
    }),
  });
  assert.equal(
    text,
    `Ada Lovelace, Kitchen remodel in Austin, TX 78701

An island.
3" < 4" & tiles

PROJECT
Service: Remodel
Area: Kitchen
Material: oak

CONTACT
Name: Ada Lovelace
Phone: (512) 555-0123 (+15125550123)
Email: ada@example.com
Address:
12 Analytical Way
Austin, TX 78701

OTHER FIELDS
Jornaya lead id: 5D6F7A80-1111-2222
Rooms: kitchen, bath
Budget:
Low: 1000
High: 2000

CONSENT
TrustedForm certificate: https://cert.trustedform.com/0123456789abcdef
TCPA text: I agree to be called.

Received: Thursday, September 3, 2026 at 7:05 AM PDT
Cost: $12.50
Reference: lead-77
Source: Partner X
Event: e1`,
  );
});

test("the summary names the campaign, and from whom the same phone number was received before", () => {
  const text = summaryText({
    ...input({ campaign: "spring" }),
    earlier: { posts: [{ source: "partner-y", form: "", receivedAt: "2026-09-01T14:05:12Z" }], more: "" },
  });
  assert.match(text, /^Also received on Sep 1, 7:05 AM PDT from partner-y \(same phone number\)$/m);
  assert.match(text, /\nSource: partner-x\nCampaign: spring\nEvent: \w+$/);
});

test("the summary of a form has its answers, the visit and the form's key", () => {
  const text = summary({
    eventId: "e2",
    kind: "form",
    source: "website",
    content: JSON.stringify({
      name: "Ada Lovelace",
      email: "ada@example.com",
      phone: "+44 20 7946 0958",
      message: "Hello",
      country: "GB",
      "preferred-time": "noon",
      newsletter: true,
      page_url: "https://acme.example/quote",
    }),
    extra: '{"form_key":"roof-quote","attribution":{"utm_source":"ads","gclid":"g1"},"ip":"203.0.113.7"}',
  });
  assert.equal(
    text,
    `Ada Lovelace, From the roof quote form

Hello

CONTACT
Phone: 020 7946 0958 (+442079460958)
Email: ada@example.com
Place: United Kingdom

ANSWERS
Preferred time: noon
Newsletter: yes

VISIT
Page URL: https://acme.example/quote
Campaign source: ads
Google click id: g1
IP address: 203.0.113.7

Received: Thursday, September 3, 2026 at 7:05 AM PDT
Form: roof-quote
Source: website
Event: e2`,
  );
});

test("a flag's note and the banner of a test stand in the summary, and no banner in a real one", () => {
  const parts = { content: '{"first_name":"Ada","phone":"call me"}', flags: ["phone_unnormalized"] };
  assert.match(summary(parts), /^The phone number may be wrong\. It is shown as sent\.$/m);
  assert.match(summary(parts, true), /^This is a test with a made-up lead\. No reply is needed\.\nAda\n/);
  assert.doesNotMatch(summary(parts), /test/i);
});

test("numbers stand in the summary with the sender's digits, and without marks", () => {
  const extra = '{"big":12345678901234567890,"price":1.10,"hostile":"\\ufdd07\\ufdd1"}';
  const text = summary({ extra });
  assert.match(text, /^Big: 12345678901234567890$/m);
  assert.match(text, /^Price: 1\.10$/m);
  assert.match(text, /^Hostile: 7$/m);
  assert.doesNotMatch(text, /[\ufdd0\ufdd1]/);
});

/** The end of each summary, which must never be cut. */
const ending = /\n\nReceived: [^\n]+\n(?:Cost: [^\n]+\n)?Source: partner-x\nEvent: ([0-9a-z]+)$/;

test("a summary has at most 32,000 characters, and still ends with the source and the event", () => {
  const long = "word ".repeat(9_000);
  for (
    const [content, extra] of [
      [{ first_name: "Ada", project_details: long }, {}],
      [{ first_name: "Ada" }, { notes: long }],
      [{ first_name: "Ada", cost_cents: 1250, project_details: "😀".repeat(16_000) }, {
        more: "ü".repeat(20_000),
      }],
      [
        { first_name: "Ada" },
        Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`f${index}`, "v".repeat(9)])),
      ],
    ]
  ) {
    const eventId = "0123456789abcdef";
    const text = summary({ eventId, content: JSON.stringify(content), extra: JSON.stringify(extra) });
    assert.ok(text.length <= 32_000, String(text.length));
    assert.ok(text.length > 31_900, String(text.length));
    assert.equal(ending.exec(text)?.[1], eventId);
    assert.ok(text.isWellFormed());
    assert.doesNotMatch(text, /\ufffd/);
    assert.match(text, /…\n\nReceived: /);
  }
});

/** Generates values that a sender can post: texts, numbers, lists and objects of them. */
const value = fc.letrec<{ value: unknown; text: string }>((tie) => ({
  text: messyText.map((text) => text.toWellFormed()),
  value: fc.oneof(
    { depthSize: "small" },
    tie("text"),
    fc.integer(),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(tie("text"), tie("value"), { maxKeys: 3 }),
  ),
})).value;

/** Returns the lines of all texts within a value, as they are shown. */
function textsIn(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(textsIn);
  // Our own marks of numbers are noncharacters, which nobody sees.
  return withoutMarks(withoutInvisible(String(value))).split("\n").map((line) => line.trim()).filter((line) =>
    line !== ""
  );
}

test("every text that was sent is in the summary, whole", () => {
  const member = fc.string({ unit: fc.constantFrom(..."abcXYZ_-09 é"), minLength: 1, maxLength: 9 });
  const lead = fc.record({
    first_name: messyText,
    last_name: messyText,
    phone: messyText,
    email: messyText,
    street_address: messyText,
    city: messyText,
    state: messyText,
    zip: messyText,
    project_details: messyText,
    project_material: messyText,
    external_id: messyText,
  }, { requiredKeys: [] });
  fc.assert(
    fc.property(lead, fc.dictionary(member, value, { maxKeys: 5 }), (content, extra) => {
      const parts = { content: JSON.stringify(content), extra: JSON.stringify(extra) };
      const text = summary(parts);
      assert.ok(text.length <= 32_000);
      // Deep values are shown as JSON.
      const deep = JSON.stringify(extra).split(/[[{]/).length > 5;
      const shown = text.replace(/\s+/g, " ");
      for (const sent of deep ? textsIn(content) : [...textsIn(content), ...textsIn(extra)]) {
        assert.ok(shown.includes(sent.replace(/\s+/g, " ")), `${JSON.stringify(sent)} is not in ${text}`);
      }
      assert.match(text, /\nSource: partner-x\nEvent: [0-9a-z]+$/);
    }),
    runs,
  );
});

test("every answer of a form is in the summary, whole", () => {
  const field = fc.oneof(
    fc.constantFrom("name", "first_name", "last_name", "email", "phone", "message", "city", "zip", "street"),
    fc.string({ unit: fc.constantFrom(..."abcXYZ_-09 é"), minLength: 1, maxLength: 9 }),
  );
  const texts = messyText.map((text) => text.toWellFormed());
  fc.assert(
    fc.property(fc.dictionary(field, texts, { maxKeys: 8 }), (content) => {
      const text = summary({
        kind: "form",
        content: JSON.stringify(content),
        extra: '{"form_key":"contact"}',
      });
      const shown = text.replace(/\s+/g, " ").toLowerCase();
      for (const sent of textsIn(content)) {
        const wanted = sent.replace(/\s+/g, " ").toLowerCase();
        assert.ok(shown.includes(wanted), `${JSON.stringify(sent)} is not in ${text}`);
      }
    }),
    runs,
  );
});

test("a post of the greatest size has its summary at once", () => {
  const bytes = limits.bodyBytesMax - 100;
  for (const extra of [{ a: " ".repeat(bytes) }, { a: "\n".repeat(bytes / 2) }, { a: ",".repeat(bytes) }]) {
    const startedAtMs = performance.now();
    assert.ok(summary({ extra: JSON.stringify(extra) }).length <= 32_000);
    assert.ok(performance.now() - startedAtMs < 5_000);
  }
});
