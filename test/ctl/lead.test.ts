import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { accept, ordinaryLead } from "../support/ctl/event.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
let acme: string;

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "box", "--sandbox"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "acme"], on);
  acme = (await ctl(["key", "issue", "acme", "--label", "web", "--campaign", "spring"], on)).id;
});

test("lead show --json prints the whole event", async () => {
  const raw = '\ufeff{"first_name":"Zoë 👩‍👧","note":"\\u0000"}\r\n';
  const { event_id, received_at } = await accept(sql, acme, {
    idempotencyKey: "acme:1",
    flags: "phone_unnormalized,extra_fields_preserved",
    extra: '{"note":"\\u0000"}',
    raw,
    costCents: 1234,
  });
  assert.deepEqual(await ctl(["lead", "show", event_id], on), {
    event_id,
    kind: "lead",
    tenant: "acme",
    source: "web",
    received_at,
    flags: ["phone_unnormalized", "extra_fields_preserved"],
    idempotency_key: "acme:1",
    request_id: null,
    lead: ordinaryLead,
    extra: { note: "\0" },
    raw,
    // A live tenant without a route.
    delivery: { state: "pending", due_at: received_at, reason: "no_route", attempts: [] },
    effects: [],
    duplicates: [],
    operations: [],
  });
  assert.equal((await ctl(["campaign", "list"], on))[0].spend_cents, 1234);
});

test("lead show with an unknown id names it and prints no event", async () => {
  const { event_id } = await accept(sql, acme);
  const unknown = event_id.replace(/^../, "00");
  const { code, stdout, stderr } = await runCtl(["lead", "show", event_id, unknown, "--json"], on);
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.equal(stderr, `There is no event ${unknown}; see ctl lead list\n`);
});

test("lead show of a submission has submission in place of lead, and lead list has both kinds", async () => {
  const { event_id } = await accept(sql, acme, { kind: "form", lead: '{"message":"hi"}' });
  const shown = await ctl(["lead", "show", event_id], on);
  assert.equal(shown.kind, "form");
  assert.deepEqual(shown.submission, { message: "hi" });
  assert.ok(!("lead" in shown));
  const listed: { kind: string }[] = await ctl(["lead", "list"], on);
  assert.deepEqual(new Set(listed.map(({ kind }) => kind)), new Set(["form", "lead"]));
});

test("lead show escapes terminal control characters", async () => {
  const { event_id } = await accept(sql, acme, {
    idempotencyKey: "\x1b]0;owned\x07",
    lead: JSON.stringify({ ...ordinaryLead, project_details: "line one\nline \x1b[2Jtwo", city: "a\u202eb" }),
    raw: '{"a":"\x9b31m"}',
  });
  const { stdout } = await runCtl(["lead", "show", event_id], on);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  assert.match(stdout, /project_details {2}line one\n {19}line \\x1b\[2Jtwo/);
  assert.match(stdout, /city +a\\u202eb/);
  assert.match(stdout, /cost +\$12\.34/);
  assert.match(stdout, /Idempotency-Key {2}\\x1b\]0;owned\\x07/);
  assert.match(stdout, /Body as posted\n {2}\{"a":"\\x9b31m"\}/);
});

test("lead list --since lists leads received at or after that time", async () => {
  const before = await accept(sql, acme);
  await sql`select pg_sleep(0.002)`;
  const { received_at, event_id } = await accept(sql, acme);
  const listed = await ctl(["lead", "list", "--since", received_at], on);
  assert.deepEqual(listed.map((lead: { event_id: string }) => lead.event_id), [event_id]);
  const all = await ctl(["lead", "list", "--since", before.received_at], on);
  assert.equal(all.length, 2);
  assert.equal((await ctl(["lead", "list", "--since", "1h", "--limit", "3"], on)).length, 3);
  assert.deepEqual(await ctl(["lead", "list", "--since", "2999-01-01"], on), []);
  assert.ok((await ctl(["lead", "list", "--since", "1970-01-01"], on)).length > 2);
});

test("lead list --tenant lists the newest events of all keys of the tenant, and of no other", async () => {
  const first = (await ctl(["key", "issue", "box", "--label", "first"], on)).id;
  const second = (await ctl(["key", "issue", "box", "--label", "second"], on)).id;
  const ids: string[] = [];
  for (const key of [first, acme, second, first, acme]) ids.unshift((await accept(sql, key)).event_id);
  const listed = async (...options: string[]) =>
    (await ctl(["lead", "list", "--tenant", "box", ...options], on)).map((
      { event_id }: { event_id: string },
    ) => event_id);
  const own = [ids[1], ids[2], ids[4]];
  assert.deepEqual(await listed(), own);
  assert.deepEqual(await listed("--limit", "2"), own.slice(0, 2));
  assert.deepEqual(await listed("--since", "2999-01-01"), []);
  assert.deepEqual(await listed("--since", "1970-01-01"), own);
});

test("an id of another shape is a usage error that says what it looks like, and an API key is not repeated", async () => {
  const verbs = ["lead show", "lead return --undo", "dead show", "dead replay", "form release", "form spam"];
  for (const verb of verbs) {
    const { code, stderr } = await runCtl([...verb.split(" "), "415-555-0171"], on);
    assert.equal(code, 2, verb);
    assert.match(
      stderr,
      /ID must be 38 digits .* This looks like a phone number, which ctl find/,
      verb,
    );
  }
  const { key } = await ctl(["key", "issue", "acme", "--label", "pasted"], on);
  const { code, stderr } = await runCtl(["lead", "show", key], on);
  assert.deepEqual([code, stderr.includes(key)], [2, false]);
});
