import assert from "node:assert/strict";
import { test } from "node:test";
import { eventNotification } from "../../../src/actions/notification/event.ts";
import { renderMail } from "../../../src/actions/notification/mail.ts";
import { event, sending } from "../../support/actions/event.ts";

/** Returns the email of an event. */
const composeEmail = (what: ReturnType<typeof event>) => renderMail(eventNotification(sending(what)));

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

/** Returns the HTML's visible text. */
function seen(html: string): string {
  return html.slice(html.indexOf("<h1")).replace(/<wbr>/g, "").replace(/<br>/g, "\n").replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

test("the text lists name and contact first, then the request, then everything else", () => {
  const { text } = composeEmail(event({ content: wholeLead }));
  assert.equal(
    text,
    `New lead for Acme Remodeling: Ada Lovelace
Kitchen remodel in Portland, OR

Call: (555) 123-4567
Email: ada@example.com

Request:

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
Open in Google Maps: https://www.google.com/maps/search/?api=1&query=1%20Main%20St%2C%20Portland%2C%20OR%2097201%2C%20US

Received: Thursday, September 3, 2026 at 7:05 AM PDT
Cost: $12.50
Reference: X-1
Source: partner-x
Event: ${/Event: (\w+)/.exec(text)?.[1]}
`,
  );
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

test("a form submission's email lists name, contact, message, answers and attribution", () => {
  const { subject, text } = composeEmail(
    event({ kind: "form", content: submission, extra: submissionExtra, source: "acme-web" }),
  );
  assert.equal(subject, "New message from the contact form: Ada");
  assert.equal(
    text,
    `New message for Acme Remodeling: Ada
From the contact form

Call: (555) 123-4567
Email: ada@example.com

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

Visit:

Page URL: https://acme.example/roof?utm_source=ads
Referrer: https://search.example/
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

test("lead content cannot lengthen the subject, add a header, reverse text or form a link", () => {
  const evil = `a\r\nBcc: x@evil.example\u202e\u0000 http://evil.example/${"é".repeat(300)}`;
  const names = ["first_name", "last_name", "city", "project_area", "project_service", "zip"];
  const content = JSON.stringify(Object.fromEntries(names.map((name) => [name, evil])));
  const { subject } = composeEmail(event({ content, source: evil }));
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(subject, /[\x00-\x1f\u202e]|\w\.\w|\w@\w|:\/\/\w/);
  assert.ok([...subject].length < 200, `${[...subject].length}`);
});

test("event content is never markup", () => {
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

test("lead content is neither a link in the HTML nor auto-linked by email programs", () => {
  const { html } = composeEmail(
    event({
      content: JSON.stringify({
        project_details: "see http://evil.example/x or www.evil.example, a@b.example",
      }),
    }),
  );
  const shown = html.slice(html.indexOf("<body"));
  assert.doesNotMatch(shown, /:\/\/[^\s<]|www\.[^\s<]|\w\.[a-z]+\/|\w@\w|<a\b|href/);
  assert.ok(seen(html).includes("see http://evil.example/x or www.evil.example, a@b.example"));
});

for (
  const [sent, shown] of [
    ["https://www.example.com", "https://www.example.com"],
    ["See (http://www.example.com/a?b=c#d).", "See (http://www.example.com/a?b=c#d)."],
    ["HTTPS://example.com:8443, or", "HTTPS://example.com:8443, or"],
    // Anything else is broken up so that it is not auto-linked.
    ["www.evil.example a@b.example", "www. evil. example a@ b. example"],
    ["https://bank.example@evil.example/", "https:// bank. example@ evil. example/"],
    ["https://bank.example:80@evil.example", "https:// bank. example:80@ evil. example"],
    ["https://bank.example\\@evil.example", "https:// bank. example\\@ evil. example"],
    ["https://b\u0430nk.example/", "https:// b\u0430nk. example/"],
    ["slack://user javascript://x.example", "slack:// user javascript:// x. example"],
    ["http://localhost/ https://127.0.0.1/", "http:// localhost/ https:// 127.0.0.1/"],
  ] as const
) {
  test(`${JSON.stringify(sent)} in a lead is shown as ${JSON.stringify(shown)}`, () => {
    const { text } = composeEmail(
      event({ content: JSON.stringify({ project_details: sent }), extra: JSON.stringify({ site: sent }) }),
    );
    assert.ok(text.includes(`Request:\n\n    ${shown}\n`), text);
    assert.ok(text.includes(`Site: ${shown}\n`), text);
  });
}
