import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { slackText } from "../../src/actions/destinations.ts";
import { status } from "../support/actions/crm_sink.ts";
import { event, sending } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { everyValue } from "../support/every_value.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

let fixture: Fixture;
let on: { readonly databaseUrl: string };
const path = "/services/T0/B0/t0ken";

before(async () => {
  fixture = await openFixture();
  on = { databaseUrl: fixture.databaseUrl };
  await fixture.addTenant("chat");
  await fixture.addTenant("box", { sandbox: true });
  await ctl(["tenant", "route", "chat", "--slack-url", fixture.crmUrl(path)], on);
});
beforeEach(() => {
  fixture.crm.answer = status(200);
});

const posts = () => fixture.crm.calls.filter(({ url }) => url === path);
const toChat = (parts: Parameters<Fixture["deliver"]>[0] = {}) =>
  fixture.deliver({ tenant: "chat", ...parts });

test("--slack-url posts each lead to Slack as plain text in JSON", async () => {
  const before = posts().length;
  const { json, status: code, eventId } = await toChat();
  assert.deepEqual([code, json.effects], [200, { crm: "none", email: "none", slack: "done" }]);
  assert.equal(posts().length, before + 1);
  const call = posts().at(-1);
  assert.equal(call?.method, "POST");
  assert.equal(call?.headers["content-type"], "application/json");
  assert.equal(call?.headers["webhook-signature"], undefined);
  const { text, ...rest } = JSON.parse(call?.body ?? "");
  assert.deepEqual(rest, { mrkdwn: false });
  assert.equal(
    text,
    `New lead for chat: Ada Lovelace\n<tel:+15551234567|Call (555) 123-4567> · <mailto:ada@example.com|Email ada@example.com>\nReceived: Thursday, September 3, 2026 at 2:05 PM UTC · Source: partner-x · Event: ${eventId}`,
  );
  const line = await until(() => fixture.actions.logs.find((entry) => entry.event_id === eventId));
  assert.deepEqual([line.crm, line.email, line.slack], ["none", "none", "done"]);
});

test("the Slack URL is in no log, ctl output or audit entry; only its host is shown", async () => {
  fixture.crm.answer = status(404);
  await toChat();
  const shown = [
    await runCtl(["tenant", "route", "chat"], on),
    await runCtl(["tenant", "route", "chat", "--json"], on),
    await runCtl(["tenant", "route", "chat", "--slack-url", `${fixture.crmUrl(path)}2`], on),
    await runCtl(["audit", "list"], on),
  ];
  await ctl(["tenant", "route", "chat", "--slack-url", fixture.crmUrl(path)], on);
  assert.match(shown[0]?.stdout ?? "", /\nSlack +https:\/\/localhost:\d+\/…\n/);
  const output = shown.map(({ stdout, stderr }) => stdout + stderr).join("") + fixture.actions.output.stdout +
    fixture.actions.output.stderr;
  assert.doesNotMatch(output, /t0ken|T0\//);
  const places = (await everyValue(fixture.sql)).filter(({ text }) => /t0ken/.test(text));
  assert.deepEqual([...new Set(places.map(({ column }) => column))], ["actions.route.address"]);
  const [, changed] = await ctl(["audit", "list", "--subject", "chat"], on);
  assert.deepEqual(changed.detail, { crm: "none", email: "none", slack: "changed", new_secret: false });
});

test("a route to an unknown destination fails without affecting the others", async () => {
  await fixture.addTenant("ahead", { email: "sales@ahead.example" });
  await fixture.sql`insert into actions.route (tenant_id, kind, address)
    select id, 'pager', 'https://pager.example/' from tenant where slug = 'ahead'`;
  const { status: code, json } = await fixture.deliver({ tenant: "ahead" });
  assert.equal(code, 424);
  assert.deepEqual(json.effects, { crm: "none", email: "done", pager: "failed: unknown_destination" });
});

const facts = "Received: Thursday, September 3, 2026 at 7:05 AM PDT · Source: partner-x · Event: …";

const messageOf = (content: object, parts: Parameters<typeof event>[0] = {}) =>
  slackText(sending(event({ content: JSON.stringify(content), ...parts }))).replace(
    /Event: \w+$/,
    "Event: …",
  );

test("the message has the lead's name, project, place and two links", () => {
  const lead = {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "(503) 555-0100 x12",
    email: "ada@example.com",
    street_address: "1 Main St",
    city: "Portland",
    state: "OR",
    project_area: "kitchen",
    project_service: "remodel",
    project_details: `New\ncabinets. ${"x".repeat(300)}`,
  };
  assert.equal(
    messageOf(lead),
    `New lead for Acme Remodeling: Ada Lovelace
Kitchen remodel in Portland, OR
New cabinets. ${"x".repeat(200 - 14)}…
<tel:+15035550100;ext=12|Call (503) 555-0100 ext. 12> · <mailto:ada@example.com|Email ada@example.com>
${facts}`,
  );
});

test("the message has the ZIP code, where the lead is from, its campaign and its cost", () => {
  const text = messageOf({ zip: "97201", city: "Portland", cost_cents: 4500 }, {
    source: "partner & sons",
    campaign: "fall",
  });
  assert.equal(
    text,
    `New lead for Acme Remodeling: New lead
Portland 97201
Received: Thursday, September 3, 2026 at 7:05 AM PDT · Cost: $45.\u200b00 · Source: partner &amp; sons · Campaign: fall · Event: …`,
  );
});

test("an email address without a link is shown with what is wrong", () => {
  const text = messageOf({ email: "ada at example.com" });
  assert.ok(
    text.includes(
      "\nEmail: ada at example.\u200bcom\nThe email address has no @\u200b, so replies cannot go",
    ),
    text,
  );
});

for (
  const [value, shown] of [
    [
      "<!here> <!channel> <@U012AB3CD> <#C1>",
      "&lt;!here&gt; &lt;!channel&gt; &lt;@\u200bU012AB3CD&gt; &lt;#C1&gt;",
    ],
    ["<https://evil.example|Your bank>", "&lt;https://\u200bevil.\u200bexample|Your bank&gt;"],
    ["&lt;!here&gt; &amp;&amp;amp;", "&amp;lt;!here&amp;gt; &amp;&amp;amp;"],
    ["https://evil.example/a.b", "https://\u200bevil.\u200bexample/a.\u200bb"],
    ["evil.example", "evil.\u200bexample"],
    ["@channel ada@example.com", "@\u200bchannel ada@\u200bexample.\u200bcom"],
    ["slack://user mailto:a@b.co", "slack://\u200buser mailto:a@\u200bb.\u200bco"],
    ["One. Two.", "One. Two."],
  ] as const
) {
  test(`${JSON.stringify(value)} in a lead is neither a mention nor a link`, () => {
    const text = messageOf({ project_details: value });
    assert.ok(text.endsWith(`\n${shown}\n${facts}`), text);
  });
}

test("a long lead is truncated between characters", () => {
  const text = messageOf({ project_details: "<😀".repeat(8_000) });
  assert.ok(text.isWellFormed());
  assert.ok(text.length < 2_000);
  assert.doesNotMatch(text, /<|&(?!lt;)/);
});
