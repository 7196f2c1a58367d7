import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { eventBody, type EventParts } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { acceptPosts } from "../support/accept.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";

let fixture: Fixture;
const partner = 1;
const website = 2;
const neighbor = 3;

before(async () => {
  fixture = await openFixture();
  const on = { databaseUrl: fixture.databaseUrl };
  await fixture.sql`update tenant set time_zone = 'America/Los_Angeles' where slug = 'acme'`;
  await ctl(["tenant", "route", "acme", "--slack-url", fixture.crmUrl("/slack")], on);
  await ctl(["key", "issue", "acme", "--label", "partner-x"], on);
  await ctl(["key", "issue", "acme", "--label", "acme-web", "--surface", "forms"], on);
  await ctl(["form", "add", "acme", "roof-quote", "--required", "phone"], on);
  await fixture.addTenant("globex");
  await ctl(["key", "issue", "globex", "--label", "partner-y"], on);
});
beforeEach(async () => {
  fixture.crm.answer = status(200);
  await fixture.sql`delete from search_entry`;
});

/** Accepts a post at a time and returns the event's id. The phone of a submission is set by `form`. */
async function post(
  at: string,
  { keyId = partner, phone = "+15035550100", verdict = "clean" }: {
    readonly keyId?: number;
    readonly phone?: string;
    readonly verdict?: "clean" | "spam";
  } = {},
): Promise<string> {
  await fixture.sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select timestamptz '${at}' $$`);
  const content = JSON.stringify({ phone });
  const form = keyId === website ? { formId: 1, verdict } : {};
  const [accepted] = await acceptPosts(fixture.sql, [{ keyId, lead: content, ...form }]);
  const id = accepted?.event_id ?? "";
  await fixture.sql`update submission set phone = ${phone} where event_id = ${id}`;
  await fixture.sql`select fill_search_entry(100, true)`;
  return id;
}

/** No two posts have the same time, because those of one batch are indexed together. */
const received = "2026-11-20T15:00:00Z";

/** Delivers an event and returns its email's text, decoded, and its Slack message. */
async function delivered(eventId: string, parts: EventParts = {}) {
  const { status: code } = await fixture.deliver({ eventId, ...parts });
  assert.equal(code, 200);
  const raw = fixture.smtp.messages.at(-1)?.raw ?? "";
  const slack = fixture.crm.calls.filter(({ url }) => url === "/slack").at(-1);
  return { mail: raw.replace(/=\r\n/g, ""), slack: JSON.parse(slack?.body ?? "{}").text as string };
}

/** Returns the texts that would be sent, as the console shows them. */
async function previewed(eventId: string) {
  const event = eventBody({ eventId });
  const { json } = await fixture.ask({
    method: "POST",
    path: "/v1/tests",
    body: JSON.stringify({
      tenant: "acme",
      source: "partner-x",
      form: "",
      dry_run: true,
      event_id: eventId,
      event,
    }),
  });
  const bodyOf = (kind: string) =>
    json.requests.find(({ effect }: { effect: string }) => effect === kind).body as string;
  return { mail: bodyOf("email"), slack: JSON.parse(bodyOf("slack")).text as string };
}

test("an email names when and how the same phone number was received before, and Slack also from whom", async () => {
  await post("2026-11-03T15:05:00Z", { keyId: website, phone: "503.555.0100 x12" });
  await post("2026-11-18T04:00:00Z");
  await post("2026-10-21T14:59:00Z"); // More than 30 days before.
  await post("2026-11-19T10:00:00Z", { keyId: website, verdict: "spam" });
  await post("2026-11-19T11:00:00Z", { keyId: neighbor });
  await post("2026-11-19T12:00:00Z", { phone: "+15035550101" });
  const erased = await post("2026-11-19T13:00:00Z");
  await fixture.sql`select remove_content(${[erased]}, 'erasure')`;
  const eventId = await post(received);
  await post("2026-11-20T15:00:01Z");
  const sent = await delivered(eventId);
  assert.ok(
    sent.mail.includes(
      "- Also received on Nov 17, 8:00 PM PST as a lead; on Nov 3, 7:05 AM PST from the roof quote form (same phone number)",
    ),
    sent.mail,
  );
  assert.doesNotMatch(sent.mail, /partner|acme-web/);
  const lines = sent.slack.split("\n");
  assert.ok(
    lines.includes(
      "Also received on Nov 17, 8:00 PM PST from partner-x; on Nov 3, 7:05 AM PST from acme-web (same phone number)",
    ),
    sent.slack,
  );
  const shown = await previewed(eventId);
  assert.match(shown.mail, /^- Also received on Nov 17, 8:00 PM PST as a lead; on Nov 3, /m);
  assert.equal(shown.slack, sent.slack);
});

test("of many earlier posts, the latest three are named and the others counted, up to a limit", async () => {
  for (const hour of ["09", "10", "11", "12", "13"]) await post(`2026-11-19T${hour}:00:00Z`);
  const eventId = await post("2026-11-20T16:00:00Z");
  assert.match(
    (await delivered(eventId)).mail,
    /Also received on Nov 19, 5:00 AM PST as a lead; on Nov 19, 4:00 AM PST as a lead; on Nov 19, 3:00 AM PST as a lead; and 2 more \(same/,
  );
  for (const minute of Array.from({ length: 100 }, (_, at) => at)) {
    await post(new Date(Date.parse("2026-11-20T12:00:00Z") + minute * 60_000).toISOString());
  }
  assert.match((await delivered(await post("2026-11-20T17:00:00Z"))).mail, /; and at least 97 more \(same/);
});

test("a phone number that was not received before, or is none, has no note", async () => {
  await post("2026-11-19T09:00:00Z", { phone: "none" });
  const sent = await delivered(await post("2026-11-20T18:00:00Z", { phone: "none" }));
  assert.doesNotMatch(sent.mail, /Also received/);
  const eventId = await post("2026-11-20T19:00:00Z", { phone: "+15035550102" });
  assert.doesNotMatch((await delivered(eventId)).mail, /Also received/);
});

for (
  const [fault, statement] of [["fails", "raise 'broken'"], ["takes too long", "perform pg_sleep(3600)"]]
) {
  test(`if the lookup ${fault}, the lead is sent without the note`, async () => {
    await post("2026-11-19T09:00:00Z");
    const eventId = await post(received);
    const [{ source } = { source: "" }] = await fixture.sql<{ source: string }[]>`
      select pg_get_functiondef('actions.earlier_posts'::regproc) as source`;
    await fixture.sql.unsafe(`
      create or replace function actions.earlier_posts(p_event_id text)
      returns table (source text, form text, received_at text, more text)
      language plpgsql security definer as $$ begin ${statement}; end $$`);
    const { mail, slack } = await delivered(eventId);
    await fixture.sql.unsafe(source);
    assert.match(mail, /Ada/);
    assert.doesNotMatch(mail + slack, /Also received/);
    await until(() =>
      fixture.actions.logs.find((line) => line.event === "earlier_posts_failed" && line.event_id === eventId)
    );
    assert.match((await delivered(await post("2026-11-20T16:00:00Z"))).mail, /Also received/);
  });
}
