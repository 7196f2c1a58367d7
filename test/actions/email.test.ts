import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { emailDestination } from "../../src/actions/destinations.ts";
import { type MailerOptions, openMail } from "../../src/actions/smtp.ts";
import type { DeliveredEvent } from "../../src/actions/event.ts";
import { event, type EventParts, sending } from "../support/actions/event.ts";
import { type SmtpListener, startSmtp, type Step } from "../support/actions/smtp_listener.ts";

let smtp: SmtpListener;
const nowMs = Date.UTC(2026, 8, 3, 14, 5, 13);

before(async () => {
  smtp = await startSmtp();
});
beforeEach(() => smtp.answers.clear());

interface Sending extends Partial<MailerOptions> {
  readonly address?: string;
}

function send(what: DeliveredEvent, { address = "sales@acme.example", ...options }: Sending = {}) {
  const destination = emailDestination(openMail({
    host: "127.0.0.1",
    port: smtp.port,
    isSecure: false,
    login: null,
    from: { name: "Leads", address: "leads@intake.example" },
    timeoutMs: 20_000,
    ...options,
  }));
  return destination.send(sending(what, { address, nowMs }));
}

/** Sends an event and returns the message received. */
async function mailed(parts: EventParts) {
  const before = smtp.messages.length;
  const what = event(parts);
  assert.deepEqual(await send(what), { kind: "done", status: 250, answer: "queued" });
  assert.equal(smtp.messages.length, before + 1);
  const message = smtp.messages.at(-1);
  assert.ok(message);
  return { ...message, eventId: what.eventId, headers: headersOf(message.raw) };
}

/** Returns the unfolded headers, with names in lower case. */
function headersOf(raw: string): [string, string][] {
  const head = raw.slice(0, raw.indexOf("\r\n\r\n")).replace(/\r\n[ \t]+/g, " ");
  return head.split("\r\n").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
}

const one = (headers: readonly (readonly [string, string])[], name: string): string => {
  const values = headers.filter(([header]) => header === name).map(([, value]) => value);
  assert.equal(values.length, 1, `${name}: ${values.length} times`);
  return values[0] as string;
};

/** Returns the message's decoded parts by content type. */
function partsOf(raw: string): Record<string, string> {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1] ?? "";
  const parts = raw.split(`--${boundary}`).slice(1, -1);
  return Object.fromEntries(parts.map((part) => {
    const [head = "", ...body] = part.replace(/^\r\n/, "").split("\r\n\r\n");
    const text = body.join("\r\n\r\n").replace(/\r\n$/, "");
    const type = /content-type: ([^;\r]+)/i.exec(head)?.[1] ?? "";
    return [type, decode(text, /encoding: (\S+)/i.exec(head)?.[1] ?? "7bit")];
  }));
}

function decode(text: string, encoding: string): string {
  if (encoding === "base64") return Buffer.from(text, "base64").toString("utf8");
  if (encoding !== "quoted-printable") return text;
  const bytes = text.replace(/=\r\n/g, "").replace(
    /=([0-9A-F]{2})/g,
    (_, hex) => String.fromCharCode(parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

test("the email has the configured sender, the tenant's address and the event's Message-ID", async () => {
  const { from, to, headers, eventId, raw } = await mailed({});
  assert.match(from, /^<leads@intake\.example>/);
  assert.deepEqual(to, ["<sales@acme.example>"]);
  assert.equal(one(headers, "from"), "Leads <leads@intake.example>");
  assert.equal(one(headers, "to"), "sales@acme.example");
  assert.equal(one(headers, "message-id"), `<${eventId}@intake.example>`);
  assert.equal(one(headers, "subject"), "New lead: Ada Lovelace");
  assert.equal(one(headers, "reply-to"), "ada@example.com");
  assert.equal(one(headers, "auto-submitted"), "auto-generated");
  assert.equal(one(headers, "date"), "Thu, 03 Sep 2026 14:05:13 +0000");
  assert.match(one(headers, "content-type"), /^multipart\/alternative;/);
  assert.deepEqual(Object.keys(partsOf(raw)), ["text/plain", "text/html"]);
});

test("no line exceeds SMTP's maximum, and text cut from the HTML is attached", async () => {
  const details = `${"é漢<".repeat(5_000)} the end`;
  const { raw, headers } = await mailed({
    content: JSON.stringify({ project_details: details, phone: "+15035550100" }),
  });
  assert.ok(raw.split("\r\n").every((line) => line.length <= 998));
  assert.match(one(headers, "content-type"), /^multipart\/mixed;/);
  assert.match(raw, /Content-Type: text\/plain;.*name=all\.txt\r\n/i);
  assert.match(raw, /Content-Disposition: attachment; filename=all\.txt\r\n/i);
  const file = raw.slice(raw.indexOf("filename=all.txt"));
  const body = file.slice(file.indexOf("\r\n\r\n") + 4, file.indexOf("\r\n--"));
  assert.ok(decode(body, /encoding: (\S+)/i.exec(file)?.[1] ?? "base64").includes(details));
});

/** Returns everything in a message that a reader or a mail program can see, decoded. */
function everythingIn(raw: string): string {
  const files = raw.split(/\r\n--/).filter((part) => /encoding: base64/i.test(part))
    .map((part) => decode(part.slice(part.indexOf("\r\n\r\n")), "base64"));
  return [raw, decode(raw, "quoted-printable"), ...files].join("\n").replaceAll("<wbr>", "");
}

const bought = { source: "Partner-Zwei", campaign: "herbst-aktion" };
const sale = {
  lead_cost: 41.37,
  Source: "Partner-Zwei",
  campaign_id: "herbst-aktion",
  "vendor-name": "Zwei GmbH",
};
for (
  const [what, parts] of Object.entries(
    {
      "a lead": {
        content: JSON.stringify({ first_name: "Ada", cost_cents: 4137 }),
        extra: JSON.stringify(sale),
      },
      "a lead with an attachment": {
        content: JSON.stringify({ first_name: "Ada", cost_cents: 4137, project_details: "é".repeat(50_000) }),
        extra: JSON.stringify(sale),
      },
      "a form submission": {
        kind: "form",
        content: '{"name":"Ada"}',
        extra: '{"form_key":"quote","attribution":{}}',
      },
      "a form submission without a form key": { kind: "form", content: '{"name":"Ada"}', extra: "{}" },
    } as const,
  )
) {
  test(`the email of ${what} has neither cost nor source nor campaign, because a reply quotes it to the sender`, async () => {
    const everything = everythingIn((await mailed({ ...bought, ...parts })).raw);
    assert.match(everything, /Ada/);
    assert.equal(/filename=all\.txt/.test(everything), what.endsWith("attachment"));
    assert.doesNotMatch(everything, /zwei|herbst|41[.,]?37|\bcost\b|\bsource\b|\bcampaign\b/i);
  });
}

const injections = [
  ..."\r\nBcc: victim@evil.example,\nBcc: victim@evil.example,\rBcc: victim@evil.example".split(","),
  "x\r\n\r\nbody",
  "x\r\n.\r\nMAIL FROM:<evil@evil.example>\r\nRCPT TO:<victim@evil.example>\r\nDATA\r\n",
  "=?utf-8?B?DQpCY2M6IHZpY3RpbUBldmlsLmV4YW1wbGU=?=",
  '"><victim@evil.example>, x',
];
for (const text of injections) {
  test(`${JSON.stringify(text)} in every field adds no header, recipient or command`, async () => {
    // Without an email address there is no Reply-To.
    const usual = (await mailed({ content: '{"first_name":"Ada"}' })).headers.map(([name]) => name);
    const commandsBefore = smtp.commands.length;
    const names = ["first_name", "last_name", "phone", "email", "street_address", "city", "zip", text];
    names.push("project_area", "project_service", "project_details");
    const content = JSON.stringify(Object.fromEntries(names.map((name) => [name, text])));
    const { to, from, headers } = await mailed({
      content,
      extra: JSON.stringify({ [text]: text, to: text, attachments: [{ path: "/etc/passwd" }] }),
      source: text,
      flags: [text],
    });
    assert.deepEqual(headers.map(([name]) => name), usual);
    assert.deepEqual(to, ["<sales@acme.example>"]);
    assert.match(from, /^<leads@intake\.example>/);
    assert.equal(one(headers, "to"), "sales@acme.example");
    assert.doesNotMatch(one(headers, "subject"), /=\?utf-8\?B\?DQp|\w@\w/);
    const verbs = smtp.commands.slice(commandsBefore).map((line) => line.slice(0, 4).toUpperCase());
    assert.deepEqual(verbs.filter((verb) => verb !== "QUIT"), ["EHLO", "MAIL", "RCPT", "DATA"]);
  });
}

const invalidRecipients = [
  "a@b.example, victim@evil.example",
  "<victim@evil.example>",
  "",
  "A <victim@evil.example>",
  "a@b.example\r\nRCPT TO:<victim@evil.example>",
  "g:a@b.example,c@d.example;",
];
for (const address of invalidRecipients) {
  test(`the recipient ${JSON.stringify(address)} is refused without a connection`, async () => {
    const commandsBefore = smtp.commands.length;
    const outcome = await send(event(), { address });
    assert.deepEqual(outcome, { kind: "failed", reason: "address_refused", retryAfterSeconds: null });
    assert.equal(smtp.commands.length, commandsBefore);
  });
}

const refusals: readonly (readonly [Step, string, string])[] = [
  ["greeting", "421 too busy", "smtp_deferred_421"],
  ["greeting", "554 go away", "smtp_rejected_554"],
  ["MAIL", "451 later", "smtp_deferred_451"],
  ["RCPT", "450 greylisted", "smtp_deferred_450"],
  ["RCPT", "550 no such user", "smtp_rejected_550"],
  ["DATA", "452 no space", "smtp_deferred_452"],
  ["message", "451 later", "smtp_deferred_451"],
  ["message", "552 too large", "smtp_rejected_552"],
];
for (const [step, line, reason] of refusals) {
  test(`${line} at ${step} fails as ${reason}`, async () => {
    smtp.answers.set(step, line);
    const outcome = await send(event());
    const [status, answer] = [Number(line.slice(0, 3)), line.slice(4)];
    assert.deepEqual(outcome, { kind: "failed", reason, retryAfterSeconds: null, status, answer });
  });
}

for (const step of ["greeting", "EHLO", "RCPT", "message"] as const) {
  test(`a server that is silent at ${step} fails as timeout`, async () => {
    smtp.answers.set(step, null);
    const outcome = await send(event(), { timeoutMs: 300 });
    assert.deepEqual(outcome, { kind: "failed", reason: "timeout", retryAfterSeconds: null });
  });
}

test("a password is not sent without TLS to another machine", async () => {
  const commandsBefore = smtp.commands.length;
  // Not a loopback address; the server offers no STARTTLS.
  const login = { user: "user", password: "hunter2" };
  const outcome = await send(event(), { host: "0.0.0.0", login });
  assert.equal(outcome.kind, "failed");
  assert.doesNotMatch(smtp.commands.slice(commandsBefore).join("\n"), /AUTH|MAIL|hunter2|aHVudGVyMg/);
});
