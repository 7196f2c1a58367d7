import assert from "node:assert/strict";
import { test } from "node:test";
import { composeEmail } from "../../src/actions/email_text.ts";
import { flagNames, flags } from "../../src/contract/fields.ts";
import { event } from "../support/actions/event.ts";

const wholeLead = JSON.stringify({
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+15551234567",
  email: "ada@example.com",
  street_address: "1 Main St",
  city: "Portland",
  state: "OR",
  zip: "97201",
  country: "US",
  project_area: "kitchen",
  project_service: "remodel",
  project_material: "oak",
  project_details: "First line\nSecond line",
  external_id: "X-1",
  cost_cents: 1250,
});

/** What a reader sees of the HTML: tags away, entities decoded. */
function seen(html: string): string {
  return html.replace(/<wbr>/g, "").replace(/<br>\n/g, "\n").replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

test("the text has every field in the order of the envelope, and the cost in dollars", () => {
  const { text } = composeEmail(event({ content: wholeLead }));
  assert.equal(
    text,
    `New lead from partner-x

First name: Ada
Last name: Lovelace
Phone: +15551234567
Email: ada@example.com
Street address: 1 Main St
City: Portland
State: OR
ZIP: 97201
Country: US
Project area: kitchen
Project service: remodel
Project material: oak
Project details:
    First line
    Second line
External id: X-1
Cost: $12.50

Received: 2026-09-03 14:05:12 UTC
Source: partner-x
Event: ${/Event: (\w+)/.exec(text)?.[1]}
`,
  );
});

test("the order is the envelope's, whatever the order of the members", () => {
  const { text } = composeEmail(
    event({ content: '{"cost_cents":1,"zip":"97201","last_name":"L","first_name":"A"}' }),
  );
  assert.match(text, /First name: A\nLast name: L\nZIP: 97201\nCost: \$0\.01\n/);
});

test("the HTML shows the same as the text", () => {
  const { text, html } = composeEmail(
    event({ content: wholeLead, extra: '{"gate code":"12#"}', flags: ["extra_fields_preserved"] }),
  );
  const words = (all: string) => all.replace(/[-\s]+/g, " ").replaceAll(": ", " ").replaceAll(":", "").trim();
  const body = html.slice(html.indexOf("<body"));
  assert.equal(words(seen(body)), words(text));
});

test("every flag is explained in words", () => {
  const { text, html } = composeEmail(event({ flags: flagNames }));
  for (const flag of flagNames) {
    assert.ok(text.includes(`- ${flags[flag]}`), flag);
    assert.ok(seen(html).includes(flags[flag]), flag);
  }
  assert.doesNotMatch(text, /phone_unnormalized/);
});

test("what lay outside the envelope is shown as it was sent", () => {
  const extra = '{"n":12345678901234567890,"p":1.10,"list":[1, {"a":"b"}],"s":"two\\nlines","__proto__":"x"}';
  const { text } = composeEmail(event({ extra }));
  assert.match(text, /Also sent:\n\nn: 12345678901234567890\np: 1\.10\nlist: \[1, \{"a":"b"\}\]\n/);
  assert.match(text, /s:\n {4}two\n {4}lines\n__proto__: x\n/);
});

const submission = JSON.stringify({
  first_name: "Ada",
  "your-email": "ada@example.com",
  phoneNumber: "555 123 4567",
  message: "Hello,\r\n\r\nour roof leaks.",
  news: true,
  calls: false,
  size: 1.5,
  company: null,
  fax: "  ",
  page_url: "https://acme.example/roof?utm_source=ads",
  referrer: "https://search.example/",
});
const submissionExtra =
  '{"form_key":"contact","attribution":{"utm_source":"ads","utm_campaign":"fall","gclid":"G1"}}';

test("a form submission reads like a letter: labels, yes and no, line breaks, where it came from, which form", () => {
  const { subject, text } = composeEmail(
    event({ kind: "form", content: submission, extra: submissionExtra, source: "acme-web" }),
  );
  assert.equal(subject, "New form submission: contact (2026-09-03 14:05 UTC)");
  assert.equal(
    text,
    `New form submission: contact

First name: Ada
Your email: ada@example.com
Phone number: 555 123 4567
Message:
    Hello,
    
    our roof leaks.
News: yes
Calls: no
Size: 1.5

Where it came from:

Page URL: https://acme.example/roof?utm_source=ads
Referrer: https://search.example/
Campaign source: ads
Campaign: fall
Google click id: G1

Received: 2026-09-03 14:05:12 UTC
Form: contact
Source: acme-web
Event: ${/Event: (\w+)/.exec(text)?.[1]}
`,
  );
});

test("the HTML of a submission shows the same as its text", () => {
  const { text, html } = composeEmail(event({ kind: "form", content: submission, extra: submissionExtra }));
  const words = (all: string) => all.replace(/[-\s]+/g, " ").replaceAll(": ", " ").replaceAll(":", "").trim();
  assert.equal(words(seen(html.slice(html.indexOf("<body")))), words(text));
});

test("a submission without a form key or anything filled in is a mail all the same", () => {
  const { subject, text } = composeEmail(event({ kind: "form", content: '{"a":"","b":null}' }));
  assert.equal(subject, "New form submission from partner-x (2026-09-03 14:05 UTC)");
  assert.match(text, /^New form submission from partner-x\n\nReceived: /);
});

test("digits, odd names and odd extras of a submission stay what they were", () => {
  const { text } = composeEmail(event({
    kind: "form",
    content: '{"n":12345678901234567890,"__proto__":"x","":"empty","constructor":1.10}',
    extra: '{"form_key":["x"],"attribution":"none","more":{"a":[1]}}',
  }));
  assert.match(text, /^N: 12345678901234567890\nProto: x\n: empty\nConstructor: 1\.10$/m);
  assert.match(text, /^Also sent:\n\nform_key: \["x"\]\nattribution: none\nmore: \{"a":\[1\]\}$/m);
});

test("nothing of a submission gets into the subject, adds a line or poses as a field, or is markup", () => {
  const evil = "x\r\nBcc: y@evil.example\u202e\u0000</td><script>";
  const { subject, text, html } = composeEmail(event({
    kind: "form",
    content: JSON.stringify({ name: evil, [evil]: evil, page_url: evil, utm_source: evil }),
    extra: JSON.stringify({
      form_key: `contact\r\nBcc: x${"é".repeat(200)}`,
      attribution: { utm_source: evil, [evil]: evil },
    }),
  }));
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(subject, /[\x00-\x1f\u202e]/);
  assert.ok([...subject].length < 160 && subject.startsWith("New form submission: contact Bcc: x"));
  assert.doesNotMatch(text, /^Bcc:/m);
  assert.doesNotMatch(html, /<script|<td><\/td/i);
});

test("the subject has the source and the time, and nothing of the lead", () => {
  const { subject } = composeEmail(event({ content: wholeLead }));
  assert.equal(subject, "New lead from partner-x (2026-09-03 14:05 UTC)");
  const long = composeEmail(event({ source: `a\r\nBcc: x@evil.example\u202e${"é".repeat(200)}` })).subject;
  assert.doesNotMatch(long, /[\r\n\u202e]/);
  assert.ok([...long].length < 150);
});

test("nothing of an event is markup", () => {
  const evil = `</td><script>alert(1)</script><img src=x onerror=a()> "'&lt;`;
  const { html } = composeEmail(
    event({
      source: evil,
      content: JSON.stringify({ first_name: evil, [evil]: evil }),
      extra: JSON.stringify({ [evil]: evil }),
      flags: [evil],
    }),
  );
  const allowed = /^(html|head|meta|title|body|h1|h2|table|tr|th|td|ul|li|div|br|wbr)$/;
  for (const [tag, name = ""] of html.matchAll(/<\/?([a-zA-Z!]\w*)[^>]*>/g)) {
    if (tag !== "<!doctype html>") assert.match(name, allowed, tag);
    assert.doesNotMatch(tag, /on\w+=|src=|href=/);
  }
  assert.doesNotMatch(html, /<script|<img|<a[\s>]/i);
  assert.ok(seen(html).includes(evil));
});

test("nothing of a lead is a link, and nothing that mail programs make one of", () => {
  const { html } = composeEmail(
    event({
      content: JSON.stringify({ first_name: "see http://evil.example/x or www.evil.example, a@b.example" }),
    }),
  );
  assert.doesNotMatch(html, /https?:\/\/|www\.|\w\.\w+\/|\w@\w|<a\b|href/);
  assert.ok(seen(html).includes("see http://evil.example/x or www.evil.example, a@b.example"));
});

test("a value cannot pose as another field, nor turn the text around", () => {
  const { text } = composeEmail(
    event({
      content: JSON.stringify({
        first_name: "Ada\nPhone: +19998887777\u2028Email: x@evil.example",
        last_name: "\u202egnorw\u200f\u0000\u001b[31m",
        city: "a\tb",
      }),
    }),
  );
  assert.doesNotMatch(text, /^(Phone|Email):/m);
  assert.match(text, /First name:\n {4}Ada\n {4}Phone: \+19998887777\n {4}Email: x@evil\.example\n/);
  assert.match(text, /Last name: gnorw\[31m\nCity: a b\n/);
});

test("lone surrogates and names of nothing but controls do no harm", () => {
  const { text, html } = composeEmail(event({ content: '{"first_name":"\\ud800x","\\u0007":"y"}' }));
  assert.match(text, /First name: \ufffdx\n: y\n/);
  assert.ok(html.isWellFormed());
});

test("a mail has room for five hundred fields, the known ones first, and says how many are left", () => {
  const extra = JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${at}`, at])));
  const { text, html } = composeEmail(event({ content: wholeLead, extra }));
  for (const part of [text, seen(html)]) {
    assert.match(part, /External id:?\s+X-1/);
    // Fifteen fields of the envelope.
    assert.match(part, /\bf484:?\s+484\b/);
    assert.doesNotMatch(part, /\bf485\b/);
    assert.match(part, /515 more fields were sent than a mail has room for\./);
  }
  const whole = composeEmail(event({ content: wholeLead, extra: '{"f485":1}' }));
  assert.doesNotMatch(whole.text + whole.html, /more fields/);
});
