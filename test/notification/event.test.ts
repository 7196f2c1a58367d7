import assert from "node:assert/strict";
import { test } from "node:test";
import { renderEventMail } from "../../src/actions/destinations.ts";
import { event, sending } from "../support/actions/event.ts";

/** Returns the email of an event. */
const composeEmail = (what: ReturnType<typeof event>) => renderEventMail(sending(what));

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
Kitchen remodel in Portland, OR 97201

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
Reference: X-1
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

/** Returns the sections of the text of an email: the lines below each heading. */
function sectionsOf(parts: Parameters<typeof event>[0]): Record<string, string[]> {
  const { text } = composeEmail(event(parts));
  const paragraphs = text.trimEnd().split("\n\n");
  return Object.fromEntries(paragraphs.flatMap((heading, at) => {
    const lines = paragraphs[at + 1]?.split("\n") ?? [];
    return /^[A-Z][\w ]+:$/.test(heading) ? [[heading.slice(0, -1), lines]] : [];
  }));
}

const hexId = "454a35b802f3e7b63ffabb4efedb7c6ebe67886c";
const trustedFormUrl = `https://cert.trustedform.com/${hexId}`;
const leadId = "5D6F7A80-1111-2222-3333-444455556666";
const disclosure =
  "By clicking Submit I agree to receive calls and texts from Acme Remodeling at this number, also by automated means.";

const formFields = {
  name: "Ada",
  "services[]": "Roof",
  form_started_at: "2026-09-03T14:00:00Z",
  "g-recaptcha-response": "03AGdBq25",
  _wpnonce: "a1b2c3",
  _wpcf7: "12",
  "form_fields[page_url]": "https://acme.example/roof",
  utm_campaign: "fall",
  user_agent: "Firefox",
  ip: "203.0.113.7",
  xxTrustedFormCertUrl: trustedFormUrl,
  xxTrustedFormToken: trustedFormUrl,
  xxTrustedFormPingUrl: "https://ping.trustedform.com/0.HJDq",
  sms_consent: "1",
  "acceptance-214": "on",
  disclosure,
  privacy_fence: "on",
};

test("a form's technical fields stand under Visit or nowhere, and its consent apart from its answers", () => {
  const sections = sectionsOf({
    kind: "form",
    content: JSON.stringify(formFields),
    extra: '{"form_key":"quote","attribution":{"utm_campaign":"fall"}}',
  });
  assert.deepEqual(sections, {
    Answers: ["Services: Roof", "Privacy fence: yes"],
    Consent: [
      `TrustedForm certificate: ${trustedFormUrl}`,
      "SMS consent: yes",
      "Acceptance 214: yes",
      `Disclosure: ${disclosure}`,
    ],
    Visit: [
      "Page URL: https://acme.example/roof",
      "Campaign: fall",
      "User agent: Firefox",
      "IP address: 203.0.113.7",
    ],
  });
});

test("a lead's further fields are sorted alike, a nested certificate is found, and the partner's page is not in the mail", () => {
  const { Project: _, Contact: __, ...sections } = sectionsOf({
    content: '{"project_service":"remodel"}',
    extra: JSON.stringify({
      universal_leadid: leadId,
      lead_id: "4711",
      certificates: { url: trustedFormUrl },
      landing_page: "https://partner.example/",
      timestamp: "1788444312",
      tcpa_text: "Yes",
      roof_age: 12,
    }),
  });
  assert.deepEqual(sections, {
    Consent: [`Jornaya LeadiD: ${leadId}`, `TrustedForm certificate: ${trustedFormUrl}`, "TCPA text: Yes"],
    "Other fields": ["Lead id: 4711", `Certificates: URL: ${trustedFormUrl}`, "Roof age: 12"],
  });
});

for (
  const [provider, url] of [
    ["TrustedForm", trustedFormUrl],
    ["TrustedForm", `${trustedFormUrl}?shared_token=U2s5clVG`],
    [
      "TrustedForm",
      "https://cert.trustedform.com/11NgkzK_mroUbOD1-x66NigDliU1kdvbaCtLGvyja1K80vU1sKh9grlwP78vzKSp",
    ],
    ["Contact State", "https://app.contactstate.com/certificates/0123-4567"],
  ] as const
) {
  test(`${url} in any field is a link with the name of ${provider}`, () => {
    const { html, text } = composeEmail(event({ extra: JSON.stringify({ anything: url }) }));
    assert.ok(html.includes(`<a class="link" href="${url}"`), html);
    assert.ok(text.includes(`\n${provider} certificate: ${url}\n`), text);
  });
}

const tail = `/${hexId}`;
for (
  const url of [
    `http://cert.trustedform.com${tail}`,
    `https://cert.trustedform.com.evil.example${tail}`,
    `https://eviltrustedform.com${tail}`,
    `https://cert.trustedform.com@evil.example${tail}`,
    `https://evil.example\\cert.trustedform.com${tail}`,
    `https://evil.example/https://cert.trustedform.com${tail}`,
    `https://cert.trustedform.com:8443${tail}`,
    `https://cert.trustedform.com${tail}#x`,
    `https://cert.trustedform.com${tail}"onclick="x`,
    `https://cert.trustedform.com${tail}\nEvent: forged`,
    `https://cert.trustedform.com${tail} evil.example`,
    `https://cert.tru\u0455tedform.com${tail}`,
    "https://cert.trustedform.com/",
  ]
) {
  test(`${JSON.stringify(url)} is no certificate and no link`, () => {
    const { html, text } = composeEmail(
      event({ content: "{}", extra: JSON.stringify({ xxTrustedFormCertUrl: url }) }),
    );
    assert.doesNotMatch(html, /<a\b/);
    assert.doesNotMatch(text, /^(?:TrustedForm certificate|Event: forged)/m);
  });
}

for (
  const [name, value, line] of [
    ["12.2", "x", "Field 12.2: x"],
    ["input_5", "x", "Field 5: x"],
    ["wpforms[fields][3]", "x", "Field 3: x"],
    ["form_fields[Roof Age]", "x", "Roof age: x"],
    ["address[unit]", "x", "Address unit: x"],
    ["services[]", "x", "Services: x"],
    ["own_home", "on", "Own home: yes"],
    ["own_home", "true", "Own home: yes"],
    ["own_home", "false", "Own home: no"],
    ["baths", "1", "Baths: 1"],
    ["firm", "O&#039;Brien &amp; Sons &quot;Roofs&quot;", `Firm: O'Brien & Sons "Roofs"`],
    ["firm", "&lt;b&gt; &amp;lt;", "Firm: &lt;b&gt; &lt;"],
    ["rooms", ["", null, "bath", []], "Rooms: bath"],
    ["house", { floors: null, age: 12, "": "" }, "House: Age: 12"],
  ] as const
) {
  test(`${JSON.stringify({ [name]: value })} is shown as ${JSON.stringify(line)}`, () => {
    const { "Other fields": rows } = sectionsOf({ extra: JSON.stringify({ [name]: value }) });
    assert.deepEqual(rows, [line]);
  });
}

test("fields with nothing in them are left out", () => {
  const extra = JSON.stringify({ a: [], b: {}, c: [""], d: { e: null }, f: [[], {}], g: " " });
  assert.equal(sectionsOf({ extra })["Other fields"], undefined);
});

for (
  const [email, fault] of [
    ["ada at example.com", "has no @"],
    ["ada@example.com, bob@example.com", "has spaces or other characters besides one address"],
    ["ada@@example.com", "has more than one @"],
    ["ädä@example.com", "has letters outside A to Z, which not every mail program can send to"],
    ["ada..l@example.com", "has nothing before or after the @ or a dot"],
    ["ada@example", "has no ending such as .com"],
    ["a!b@example.com", "has characters that are not used in addresses"],
  ] as const
) {
  test(`the email says once that ${email} ${fault}`, () => {
    const { text, replyTo } = composeEmail(event({
      content: JSON.stringify({ email }),
      flags: ["email_shape_suspect"],
    }));
    assert.deepEqual(text.split("\n").filter((line) => line.startsWith("- ")), [
      `- The email address ${fault}, so replies cannot go to it. It is shown as sent.`,
    ]);
    assert.equal(replyTo, null);
  });
}

test("a form's phone number that cannot be dialed is noted, and one with a button is not", () => {
  const notesOf = (phone: string, flags: string[]) =>
    composeEmail(event({ kind: "form", content: JSON.stringify({ phone }), flags })).text.match(/^- .*$/gm);
  assert.deepEqual(notesOf("call me", []), ["- The phone number may be wrong. It is shown as sent."]);
  assert.equal(notesOf("(503) 555-0100", ["phone_unnormalized"]), null);
});
