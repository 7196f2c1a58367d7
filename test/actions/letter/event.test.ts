import assert from "node:assert/strict";
import { test } from "node:test";
import { eventLetter } from "../../../src/actions/letter/event.ts";
import { mailOf } from "../../../src/actions/letter/mail.ts";
import { flagNames } from "../../../src/contract/fields.ts";
import { event, sending } from "../../support/actions/event.ts";

/** The mail of an event. */
const composeEmail = (what: ReturnType<typeof event>) => mailOf(eventLetter(sending(what)));

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
  return html.slice(html.indexOf("<h1")).replace(/<wbr>/g, "").replace(/<br>/g, "\n").replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

test("the text has who it is and how to reach him first, then what is wanted, then everything else", () => {
  const { text } = composeEmail(event({ content: wholeLead }));
  assert.equal(
    text,
    `New lead for Acme Remodeling: Ada Lovelace
Kitchen remodel in Portland, OR

Call: (555) 123-4567
Mail: ada@example.com

What is wanted:

    First line
    Second line

Project:

Service: Remodel
Area: Kitchen
Material: oak

Contact:

Name: Ada Lovelace
Phone: (555) 123-4567
Email: ada@example.com
Address:
    1 Main St
    Portland, OR 97201
Open the map: https://www.google.com/maps/search/?api=1&query=1%20Main%20St%2C%20Portland%2C%20OR%2097201%2C%20US

Received: Thursday, September 3, 2026 at 7:05 AM PDT
Cost: $12.50
Reference: X-1
Source: partner-x
Event: ${/Event: (\w+)/.exec(text)?.[1]}
`,
  );
});

test("the order is the letter's, whatever the order of the members", () => {
  const { text } = composeEmail(
    event({ content: '{"cost_cents":1,"zip":"97201","last_name":"L","first_name":"A"}' }),
  );
  assert.match(text, /Name: A L\nPlace: 97201\n[^]*Cost: \$0\.01\n/);
});

/** Every word, however it is set. */
const wordsOf = (all: string) => all.split(/[\s:*-]+/).filter((word) => word !== "");

test("the HTML shows what the text says", () => {
  const flags = ["extra_fields_preserved", "country_unrecognized"];
  const { text, html } = composeEmail(
    event({ content: wholeLead, extra: '{"gate code":"12#","a":{"b":["c",{"d":1}]}}', flags }),
  );
  const told = seen(html);
  for (const line of text.split("\n").slice(1)) {
    // The map's address and the notes' heading are not for people to read.
    if (/^Open the map: |^Please note:/.test(line)) continue;
    for (const word of wordsOf(line)) assert.ok(wordsOf(told).includes(word), word);
  }
});

test("every flag that a customer can do something with is explained in his words, and no other", () => {
  const content = '{"phone":"call me","email":"me at home","country":"Freedonia"}';
  const { text, html } = composeEmail(event({ content, flags: flagNames }));
  const notes = /Please note:\n\n((?:- .*\n)+)/.exec(text)?.[1]?.split("\n").filter((note) => note !== "");
  assert.deepEqual(notes, [
    "- The phone number could not be checked. It is shown as it was sent.",
    "- The part of the home is named in the sender's own words.",
    "- The kind of work is named in the sender's own words.",
    "- The email address does not look like one. It may be mistyped.",
    "- The country was not recognized. It is shown as it was sent.",
  ]);
  for (const note of notes ?? []) assert.ok(seen(html).includes(note.slice(2)), note);
  assert.doesNotMatch(text + html, /phone_unnormalized|vocabulary|normalized|extra_fields/);
});

test("a number of another country that can be dialled needs no warning", () => {
  const content = '{"phone":"+41 44 668 18 00"}';
  const { text } = composeEmail(event({ content, flags: ["phone_unnormalized"] }));
  assert.match(text, /Call: \+41 44 668 18 00\n/);
  assert.doesNotMatch(text, /Please note/);
});

test("what lay outside the envelope stands under readable labels, with its digits, lists and members", () => {
  const extra =
    '{"n":12345678901234567890,"price_usd":1.10,"list":["a", 2],"s":"two\\nlines","__proto__":"x",' +
    '"ok":true,"none":null,"blank":" ","e":[],"deep":{"best_time":{"from":"5 pm"},"rooms":[{"name":"den"},{"sqft":1}]}}';
  const { text } = composeEmail(event({ extra }));
  assert.ok(
    text.includes(`Also sent:

N: 12345678901234567890
Price usd: 1.10
List: a, 2
S:
    two
    lines
Proto: x
Ok: yes
E: 
Deep:
    Best time: From: 5 pm
    Rooms: Name: den, Sqft: 1
`),
    text,
  );
});

test("what is nested deeper than anybody reads stays as it was written", () => {
  const { text } = composeEmail(event({ extra: '{"a":{"b":{"c":{"d":{"e":[1, {"f":2}]}}}}}' }));
  assert.match(text, /\nA: B: C: D: E: \[1, \{"f":2\}\]\n/);
  const deep = `{"a":${"[".repeat(60)}${"]".repeat(60)}}`;
  assert.ok(composeEmail(event({ extra: deep })).text.includes(`A: ${"[".repeat(56)}`));
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

test("a form submission reads like a letter: who, how to answer, the message, the answers, where it came from", () => {
  const { subject, text } = composeEmail(
    event({ kind: "form", content: submission, extra: submissionExtra, source: "acme-web" }),
  );
  assert.equal(subject, "New message from the contact form: Ada");
  assert.equal(
    text,
    `New message for Acme Remodeling: Ada
From the contact form

Call: (555) 123-4567
Mail: ada@example.com

Message:

    Hello,
    
    our roof leaks. 

Contact:

Phone: (555) 123-4567
Email: ada@example.com

Answers:

News: yes
Calls: no
Size: 1.5

Where it came from:

Page URL: https:// acme. example/roof?utm_source=ads
Referrer: https:// search. example/
Campaign source: ads
Campaign: fall
Google click id: G1

Received: Thursday, September 3, 2026 at 7:05 AM PDT
Form: contact
Source: acme-web
Event: ${/Event: (\w+)/.exec(text)?.[1]}
`.replace("leaks. ", "leaks."),
  );
});

test("the HTML of a submission shows what its text says", () => {
  const { text, html } = composeEmail(event({ kind: "form", content: submission, extra: submissionExtra }));
  const told = wordsOf(seen(html).replace(/:\/\/|[.@]/g, "$& "));
  for (const word of wordsOf(text.slice(text.indexOf("\n")).replace(/:\/\/|[.@]/g, "$& "))) {
    assert.ok(told.includes(word), word);
  }
});

test("a submission without a form key or anything filled in is a mail all the same", () => {
  const { subject, text } = composeEmail(event({ kind: "form", content: '{"a":"","b":null}' }));
  assert.equal(subject, "New message from partner-x");
  assert.match(text, /^New message for Acme Remodeling: New message\nFrom partner-x\n\nReceived: /);
});

const form = (fields: object, extra = '{"form_key":"roof-quote-form"}') =>
  composeEmail(event({ kind: "form", content: JSON.stringify(fields), extra }));

test("the contact of a form is found by the names of its fields, and nothing of it is lost", () => {
  const { subject, text, replyTo } = form({
    "Your Name": "Ada Lovelace",
    "E-Mail": "ada@example.com",
    mobile: 4155550123,
    phone2: "415 555 0124",
    address: "1 Main St",
    town: "Portland",
    postcode: "97201",
    comments: "Call me",
    message: "",
  });
  assert.equal(subject, "New message from the roof quote form: Ada Lovelace");
  assert.equal(replyTo, "ada@example.com");
  assert.match(text, /^Call: \(415\) 555-0123$/m);
  assert.match(text, /^Comments:\n\n {4}Call me$/m);
  assert.match(
    text,
    /^Address:\n {4}1 Main St\n {4}Portland 97201\nOpen the map: https:\/\/www\.google\.com\//m,
  );
  assert.match(text, /^Answers:\n\nPhone2: 415 555 0124$/m);
  const both = form({ first_name: "Ada", last_name: "King", name: "Ada King Lovelace", email: "no address" });
  assert.match(both.subject, /: Ada King$/);
  assert.match(both.text, /^Name: Ada King Lovelace$/m);
  assert.equal(both.replyTo, null);
  assert.match(both.text, /^Email: no address$/m);
});

test("digits, odd names and odd extras of a submission stay what they were", () => {
  const { text } = composeEmail(event({
    kind: "form",
    content: '{"n":12345678901234567890,"__proto__":"x","":"empty","constructor":1.10}',
    extra: '{"form_key":["x"],"attribution":"none","more":{"a":[1]}}',
  }));
  assert.match(text, /^N: 12345678901234567890\nProto: x\n: empty\nConstructor: 1\.10$/m);
  assert.match(text, /^Also sent:\n\nForm key: x\nAttribution: none\nMore: A: 1$/m);
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
  assert.ok([...subject].length < 160 && subject.startsWith("New message from the contact bcc: x"), subject);
  assert.doesNotMatch(text, /^Bcc:/m);
  assert.doesNotMatch(html, /<script|<td><\/td/i);
});

test("the subject has service, area, city and name, whichever of them there are", () => {
  const subject = (lead: object) => composeEmail(event({ content: JSON.stringify(lead) })).subject;
  const grace = { first_name: "Grace", last_name: "Hopper" };
  const all = {
    ...grace,
    project_area: "kitchen",
    project_service: "remodel",
    city: "Portland",
    zip: "97201",
  };
  assert.equal(subject(all), "Kitchen remodel in Portland: Grace Hopper");
  assert.equal(subject({ ...all, city: "" }), "Kitchen remodel in 97201: Grace Hopper");
  assert.equal(
    subject({ ...all, project_service: "maintain", project_area: "hvac" }),
    "HVAC maintenance in Portland: Grace Hopper",
  );
  assert.equal(subject({ ...all, project_area: null }), "Remodel in Portland: Grace Hopper");
  assert.equal(subject({ ...grace, project_area: "whole home" }), "Whole home: Grace Hopper");
  assert.equal(subject({ ...grace, state: "OR" }), "New lead in OR: Grace Hopper");
  assert.equal(subject(grace), "New lead: Grace Hopper");
  assert.equal(subject({}), "New lead");
});

test("nothing of a lead makes the subject long, adds a header, turns it around or is an address in it", () => {
  const evil = `a\r\nBcc: x@evil.example\u202e\u0000 http://evil.example/${"é".repeat(300)}`;
  const names = ["first_name", "last_name", "city", "project_area", "project_service", "zip"];
  const content = JSON.stringify(Object.fromEntries(names.map((name) => [name, evil])));
  const { subject } = composeEmail(event({ content, source: evil }));
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(subject, /[\x00-\x1f\u202e]|\w\.\w|\w@\w|:\/\/\w/);
  assert.ok([...subject].length < 200, `${[...subject].length}`);
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
  const allowed = /^(html|head|meta|title|style|body|h1|h2|table|tr|th|td|div|br|wbr)$/;
  const shown = html.replace(/<!--\[if mso\]>(?:<\/?(?:table|tr|td)[^<>]*>)+<!\[endif\]-->/g, "");
  for (const [tag, name = ""] of shown.matchAll(/<\/?([a-zA-Z!]\w*)[^>]*>/g)) {
    if (tag !== "<!doctype html>") assert.match(name, allowed, tag);
    assert.doesNotMatch(tag, /\son\w+=|src=|href=/);
  }
  assert.doesNotMatch(html, /<script|<img|<a[\s>]/i);
  assert.ok(seen(html).includes(evil));
});

test("nothing of a lead is a link, and nothing that mail programs make one of", () => {
  const { html, text } = composeEmail(
    event({
      content: JSON.stringify({
        project_details: "see http://evil.example/x or www.evil.example, a@b.example",
      }),
    }),
  );
  const shown = html.slice(html.indexOf("<body"));
  assert.doesNotMatch(shown, /:\/\/[^\s<]|www\.[^\s<]|\w\.[a-z]+\/|\w@\w|<a\b|href/);
  assert.doesNotMatch(text, /:\/\/\w|\w\.[a-z]|\w@\w/);
  assert.ok(seen(html).includes("see http://evil.example/x or www.evil.example, a@b.example"));
});

test("a value cannot pose as another field, nor turn the text around", () => {
  const evil = "Ada\nPhone: +19998887777\u2028Email: x@evil.example";
  const { text } = composeEmail(
    event({
      content: JSON.stringify({
        first_name: evil,
        last_name: "\u202egnorw\u200f\u0000\u001b[31m",
        city: "a\tb",
        project_details: evil,
      }),
      extra: JSON.stringify({ [evil]: evil, list: [evil], inner: { [evil]: evil } }),
    }),
  );
  assert.doesNotMatch(text, /^(Phone|Email):/m);
  assert.match(text, /^Name: Ada Phone: \+19998887777 Email: x@ evil\. example gnorw\[31m$/m);
  assert.match(text, /^ {4}Ada\n {4}Phone: \+19998887777\n {4}Email: x@ evil\. example$/m);
  assert.match(text, /^Place: a b$/m);
});

test("lone surrogates and names of nothing but controls do no harm", () => {
  const { text, html } = composeEmail(event({ content: '{"first_name":"\\ud800x","\\u0007":"y"}' }));
  assert.match(text, /^Name: \ufffdx$/m);
  assert.match(text, /^: y$/m);
  assert.ok(html.isWellFormed());
});

test("a route that is being tried says so in the subject and above everything else", () => {
  const what = event({ content: wholeLead });
  const { subject, text, html } = mailOf(eventLetter(sending(what, { isTest: true })));
  assert.equal(subject, "Test: Kitchen remodel in Portland: Ada Lovelace");
  assert.match(text, /^\*\*\* This is a test\. What follows is invented/);
  assert.ok(html.indexOf("This is a test. What follows is invented") < html.indexOf("<h1"));
  const real = mailOf(eventLetter(sending(what)));
  assert.doesNotMatch(real.text + real.html, /invented/);
});
