import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, test } from "node:test";
import { accept } from "../support/ctl/event.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl, runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
const folder = temporaryFolder("restored");
/** The restore point, after the tests' events. */
const point = new Date(Date.now() + 3_600_000).toISOString();
const later = (seconds: number) => new Date(Date.parse(point) + seconds * 1_000).toISOString();
let files = 0;
let key: string;

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await sql`
    insert into actions.route (tenant_id, kind, address, secret)
    select id, kind, address, secret from tenant, (values
      ('crm', 'https://crm.example/hook', ${`whsec_${"A".repeat(43)}=`}), ('email', 'a@acme.example', null),
      ('email', 'b@acme.example', null)) as r (kind, address, secret)`;
  key = (await ctl(["key", "issue", "acme", "--label", "web"], on)).id;
});
beforeEach(async () => {
  await sql`truncate event, outbox, attempt, dead_letter, outbox_tally, collision, tombstone, actions.effect`;
});

/** Writes a log that starts before the restore; text lines are written verbatim. */
function journal(...lines: readonly (Readonly<Record<string, unknown>> | string)[]): string {
  const file = join(folder, `journal_${files++}`);
  const all = [{ time: later(-60), level: "info", event: "listening", surface: "actions" }, ...lines];
  writeFileSync(
    file,
    all.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""),
  );
  return file;
}

const delivery = (eventId: string, effects: Readonly<Record<string, string>>, time = later(5)) => ({
  time,
  level: "info",
  event: "delivery",
  event_id: eventId,
  tenant: "acme",
  kind: "lead",
  attempt: 1,
  status: 424,
  ...effects,
  duration_ms: 7,
});

// deno-lint-ignore no-explicit-any
const restored = (...options: string[]): Promise<any> => ctl(["restored", "--point", point, ...options], on);
const waiting = async () =>
  (await sql`select event_id from outbox order by event_id`).map((row) => row.event_id);
const dead = async () =>
  (await sql`select event_id, reason from dead_letter order by event_id`).map((row) => [
    row.event_id,
    row.reason,
  ]);
const effects = async (eventId: string) =>
  (await sql`select effect, is_done from actions.effect where event_id = ${eventId} order by route_id`).map(
    (row) => [row.effect, row.is_done],
  );
const commit = async () => (await accept(sql, key)).event_id;

test("effects that the log reports after the restore point are recorded as done, so only the rest is sent", async () => {
  const [both, crmOnly, neither, never, before] = [
    await commit(),
    await commit(),
    await commit(),
    await commit(),
    await commit(),
  ];
  const file = journal(
    "Started lead-actions.service - Lead Intake Service, actions tier.",
    delivery(both, { crm: "failed: http_503", email: "done" }),
    delivery(both, { crm: "done", email: "done" }, later(60)),
    delivery(crmOnly, { crm: "done", email: "failed: smtp_deferred_451" }),
    delivery(neither, { crm: "failed: http_500", email: "failed: timeout" }),
    // Effects before the restore point are in the database.
    delivery(before, { crm: "done", email: "done" }, later(-30)),
  );
  const dry = await restored("--journal", file);
  assert.deepEqual([dry.applied, dry.waiting, dry.may_repeat, dry.lost], [false, 5, [], []]);
  assert.deepEqual(dry.done, [
    { event_id: both, effects: ["email", "crm"] },
    { event_id: crmOnly, effects: ["crm"] },
  ]);
  assert.deepEqual(await effects(both), [], "nothing was changed");
  assert.equal((await sql`select from audit where action = 'database.restore'`).length, 0);

  const applied = await restored("--journal", file, "--apply");
  assert.deepEqual([applied.applied, applied.noted, applied.held], [true, 2, []]);
  assert.deepEqual(await effects(both), [["crm", true], ["email", true], ["email", true]]);
  assert.deepEqual(await effects(crmOnly), [["crm", true]]);
  for (const id of [neither, never, before]) assert.deepEqual(await effects(id), []);
  assert.equal((await waiting()).length, 5);
  const [noted] = await sql`select subject, detail from audit where action = 'database.restore'`;
  assert.deepEqual([noted?.subject, noted?.detail.noted], [point, 2]);

  assert.equal((await restored("--journal", file, "--apply")).noted, 0, "a second run changes nothing");
});

test("an event with uncertain effects is held with the reason until an operator replays it or marks it done", async () => {
  const [half, unrecorded, fine] = [await commit(), await commit(), await commit()];
  const file = journal(
    delivery(half, { crm: "done", email: "failed: smtp_rejected_550 (1 of 2)" }),
    { time: later(7), level: "error", event: "cannot_work", event_id: unrecorded, tenant: "acme" },
  );
  const result = await restored("--journal", file, "--apply");
  assert.deepEqual(
    result.may_repeat.map(({ event_id: id, reason }: Record<string, string>) => [id, reason]),
    [
      [half, "email failed for some of its recipients: smtp_rejected_550 (1 of 2)"],
      [unrecorded, "the effects of an attempt were not recorded"],
    ],
  );
  assert.deepEqual(result.held, [half, unrecorded]);
  assert.deepEqual([await waiting(), await dead()], [[fine], [[half, "may_repeat"], [
    unrecorded,
    "may_repeat",
  ]]]);
  assert.deepEqual(await effects(half), [["crm", true]]);

  assert.deepEqual(await ctl(["dead", "done", half], on), { done: [half] });
  assert.deepEqual(await effects(half), [["crm", true], ["email", true], ["email", true]]);
  await ctl(["dead", "replay", unrecorded], on);
  assert.deepEqual([(await waiting()).length, await dead(), await effects(unrecorded)], [2, [], []]);
  const again = await runCtl(["dead", "done", half], on);
  assert.deepEqual([again.code, again.stderr], [
    1,
    `Not dead: ${half} (marked); ctl dead list shows dead letters; nothing was changed\n`,
  ]);
  const audit =
    await sql`select action, subject from audit where subject in (${half}, ${unrecorded}) order by id`;
  assert.deepEqual(audit.map(({ action, subject }) => [action, subject]), [
    ["event.hold", half],
    ["event.hold", unrecorded],
    ["dead.done", half],
    ["dead.replay", unrecorded],
  ]);
});

test("without a complete log, all pending events are held except those known to be done", async () => {
  const [logged, unlogged] = [await commit(), await commit()];
  const done = delivery(logged, { crm: "done", email: "done" });
  const late = join(folder, "late");
  writeFileSync(late, `${JSON.stringify(done)}\n`);
  const cases = [
    [[], [logged, unlogged], /no log was given/],
    [["--journal", late], [unlogged], /it begins at /],
    [
      ["--journal", journal(done, { level: "error", event: "log_lines_dropped", count: 3 })],
      [unlogged],
      /dropped/,
    ],
  ] as const;
  for (const [options, ids, why] of cases) {
    const { may_repeat: doubts, warnings } = await restored(...options);
    assert.deepEqual(doubts.map((doubt: { event_id: string }) => doubt.event_id), ids);
    assert.match(warnings[0], why);
  }
  await restored("--apply");
  assert.deepEqual([await waiting(), (await dead()).length], [[], 2]);
  const [tally] = await sql`
    select sum(delta) filter (where state = 'pending')::int as pending,
      sum(delta) filter (where state = 'dead')::int as dead from outbox_tally`;
  assert.deepEqual({ ...tally }, { pending: 0, dead: 2 });
});

test("posts accepted after the restore point are listed as lost by key and request id", async () => {
  const request = (status: number, id: string, keyId: string | null, time = later(3)) => ({
    time,
    event: "request",
    request_id: id,
    surface: "intake",
    method: "POST",
    status,
    key_id: keyId,
  });
  const file = journal(
    request(202, "before", key, later(-3)),
    request(202, "one", key),
    request(200, "repeat", key),
    request(422, "wrong", key),
    request(202, "two", key),
    request(202, "three", "4711"),
  );
  assert.deepEqual((await restored("--journal", file)).lost, [
    { key_id: key, tenant: "acme", source: "web", request_ids: ["one", "two"] },
    { key_id: "4711", tenant: null, source: null, request_ids: ["three"] },
  ]);
  const { stdout } = await runCtl(["restored", "--point", point, "--journal", file], on);
  assert.match(stdout, /3 posts since then were answered 202 and are lost/);
});

test("revocations and erasures in the exported audit are repeated, other changes are listed for manual repetition", async () => {
  const file = join(folder, "audit.jsonl");
  const [kept, erased] = [await commit(), await commit()];
  await sql`update event set lead = '{"first_name":"Jane","email":"jane@example.net"}' where event_id = ${erased}`;
  const refused = ["job:jane@example.net", "job:7"].map((name) => ({
    key_id: 1,
    age_ms: 0,
    status: 400,
    error: "invalid_json",
    idempotency_key: name,
  }));
  await sql`select add_posts(${JSON.stringify(refused)})`;
  const leaked = (await ctl(["key", "issue", "acme", "--label", "leaked"], on)).id;
  await ctl(["audit", "export", "--append", file], on);
  const tables = ["event", "outbox", "outbox_tally", "api_key", "audit", "audit_head", "tenant", "post_log"];
  for (const table of tables) await sql.unsafe(`create table copy_${table} as table ${table}`);

  // After the copy, by the database's clock.
  await ctl(["key", "revoke", leaked], on);
  await ctl(["erase", "--email", "jane@example.net"], on);
  await ctl(["tenant", "retention", "acme", "--days", "400"], on);
  await ctl(["audit", "export", "--append", file], on);
  const shipped = readFileSync(file, "utf8");
  assert.doesNotMatch(shipped, /jane/i);
  assert.equal((await ctl(["audit", "verify", "--file", file], on)).ok, true);

  // Restores the copy.
  const [head] = await sql<[{ at: Date }]>`select max(at) as at from copy_audit`;
  await sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    for (const table of tables) {
      await sql.unsafe(`delete from ${table}`);
      const [{ columns }] = await sql<[{ columns: string }]>`
        select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
        where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;
      await sql.unsafe(
        `insert into ${table} (${columns}) overriding system value select ${columns} from copy_${table}`,
      );
    }
  });
  const cutOff = await runCtl(["audit", "export", "--append", file], on);
  assert.equal(cutOff.code, 1);
  assert.match(cutOff.stderr, /not in the database.*ctl restored/);
  assert.equal(readFileSync(file, "utf8"), shipped);

  const at = new Date(head.at.getTime() + 1).toISOString();
  const command = ["restored", "--point", at, "--journal", file, "--journal", journal()];
  const found = await ctl(command, on);
  assert.deepEqual(
    found.operations.map(({ action, again }: Record<string, string>) => [action, again]),
    [
      ["key.revoke", "revoke"],
      ["person.erase_begin", null],
      ["event.erase", "erase"],
      ["person.erase", "erase_posts"],
      ["tenant.retention", null],
    ],
  );
  const text = await runCtl(command, on);
  assert.match(text.stdout, /repeated by --apply:[^]*key\.revoke[^]*by hand:[^]*tenant\.retention/);

  const applied = await ctl([...command, "--apply"], on);
  assert.deepEqual([applied.revoked, applied.erased], [[leaked], 2]);
  const logged = await sql`select idempotency_key from post_log order by id`;
  assert.deepEqual(logged.map(({ idempotency_key: name }) => name), [null, "job:7"]);
  const [key] = await sql`select revoked_at is not null as revoked from api_key where id = ${leaked}`;
  assert.equal(key?.revoked, true);
  const rows = await sql`select event_id, lead is null as gone from event order by event_id`;
  assert.deepEqual(rows.map((row) => [row.event_id, row.gone]), [[kept, false], [erased, true]]);
  assert.equal((await ctl(["audit", "verify"], on)).ok, true);
});

test("audit export --append continues after the file's last complete row", async () => {
  const file = join(folder, "appended.jsonl");
  await ctl(["audit", "export", "--append", file], on);
  const whole = readFileSync(file, "utf8");
  assert.equal((await ctl(["audit", "export", "--append", file], on)).added, 0);
  await ctl(["tenant", "add", "globex"], on);
  appendFileSync(file, '{"id":');
  assert.equal((await ctl(["audit", "export", "--append", file], on)).added, 1);
  assert.ok(readFileSync(file, "utf8").startsWith(whole));
  assert.equal((await ctl(["audit", "verify", "--file", file], on)).ok, true);
  writeFileSync(file, "no row\n");
  const wrong = await runCtl(["audit", "export", "--append", file], on);
  assert.deepEqual([wrong.code, wrong.stderr], [1, "The last line of the file is not an audit row\n"]);
});
