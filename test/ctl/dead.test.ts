import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { before, beforeEach, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { accept, ordinaryLead, type Post } from "../support/ctl/event.ts";

const isoMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const lease = randomUUID();
const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
/** The keys of two sandbox tenants, whose events are claimed without a route. */
let acme: string;
let box: string;

before(async () => {
  await ctl(["tenant", "add", "acme", "--sandbox"], on);
  await ctl(["tenant", "add", "box", "--sandbox"], on);
  acme = (await ctl(["key", "issue", "acme", "--label", "web"], on)).id;
  box = (await ctl(["key", "issue", "box", "--label", "test"], on)).id;
});
beforeEach(async () => {
  await sql`truncate event, outbox, attempt, dead_letter, outbox_tally, collision`;
});

interface Answer {
  readonly verdict: "delivered" | "retry" | "dead";
  readonly outcome: "delivered" | "refused" | "unreachable";
  readonly status?: number;
  readonly reason?: string;
  readonly countsTowardsMax?: boolean;
  readonly retryMs?: number;
}

async function claimAll(leaseMs = 30_000) {
  return await sql<{ event_id: string; number: number }[]>`
    select event_id, number from tenant as t, claim_outbox(
      ${lease}, ${leaseMs}, 24, array[t.id], array['-infinity'], array[100]::int[])`;
}

/** Claims all due events and settles them with `answer`. */
async function attempt(answer: Answer): Promise<void> {
  const rows = await claimAll();
  const each = <T>(value: T) => rows.map(() => value);
  await sql`select settle_outbox(
    ${each(lease)}, ${rows.map((row) => row.event_id)}, ${rows.map((row) => row.number)},
    ${each(answer.verdict)},
    ${each(answer.outcome)}, ${each(answer.status ?? null)}, ${each(answer.reason ?? null)}, ${each(7)},
    ${each(answer.countsTowardsMax === false ? "f" : "t")}, ${each(answer.retryMs ?? 0)})`;
}

const crmRefuses = { verdict: "dead", outcome: "refused", status: 424, reason: "crm failed_400" } as const;

/** Stores an event and lets it die. */
async function dead(keyId: string, post: Post = {}): Promise<string> {
  const { event_id } = await accept(sql, keyId, post);
  await attempt(crmRefuses);
  return event_id;
}

async function show(id: string) {
  return (await ctl(["lead", "show", id], on)).delivery;
}

test("dead list shows dead letters, newest first, of all tenants or of one", async () => {
  const older = await dead(acme);
  const newer = await dead(box, { kind: "form", lead: '{"message":"hi"}' });
  const listed = await ctl(["dead", "list"], on);
  assert.deepEqual(listed.map((row: { event_id: string }) => row.event_id), [newer, older]);
  assert.match(listed[1].died_at, isoMs);
  assert.match(listed[1].received_at, isoMs);
  assert.deepEqual({ ...listed[1], died_at: "", received_at: "" }, {
    event_id: older,
    kind: "lead",
    tenant: "acme",
    source: "web",
    received_at: "",
    died_at: "",
    reason: "crm failed_400",
    attempts_made: 1,
  });
  const ofBox = await ctl(["dead", "list", "--tenant", "box"], on);
  assert.deepEqual(ofBox.map((row: { kind: string }) => row.kind), ["form"]);
  const { stdout } = await runCtl(["dead", "list", "--limit", "1"], on);
  assert.match(stdout, new RegExp(`${newer} +form +box`));
  assert.match(stdout, /The newest 1; --limit N shows more/);
  assert.match((await runCtl(["dead", "list", "--tenant", "none"], on)).stderr, /^There is no tenant none/);
});

test("dead show prints the payload verbatim with every attempt", async () => {
  const extra = '{"__proto__":{"a":1},"n":12345678901234567890,"p":1.10,"z":"\\u0000"}';
  const raw = '\ufeff{"first_name":"Zoë"}\r\n';
  const { event_id, received_at } = await accept(sql, acme, {
    idempotencyKey: "k1",
    flags: "extra_fields_preserved",
    extra,
    raw,
  });
  await attempt({ verdict: "retry", outcome: "refused", status: 500 });
  await attempt(crmRefuses);
  const { stdout } = await runCtl(["dead", "show", event_id, "--json"], on);
  assert.ok(stdout.includes(`"extra": ${extra}`), stdout);
  const { extra: _, attempts, died_at, ...shown } = JSON.parse(stdout);
  assert.match(died_at, isoMs);
  assert.deepEqual(shown, {
    event_id,
    kind: "lead",
    tenant: "acme",
    source: "web",
    received_at,
    flags: ["extra_fields_preserved"],
    idempotency_key: "k1",
    request_id: null,
    reason: "crm failed_400",
    lead: ordinaryLead,
    raw,
    effects: [],
  });
  assert.deepEqual(attempts.map((one: { status: number }) => one.status), [500, 424]);
  assert.deepEqual(await show(event_id), { state: "dead", died_at, reason: "crm failed_400", attempts });
  const text = (await runCtl(["dead", "show", event_id], on)).stdout;
  assert.match(
    text,
    new RegExp(`crm failed_400\\. Fix the cause, then replay it \\(ctl dead replay ${event_id}\\)`),
  );
  assert.match(text, /Attempt 1: refused: the actions tier refused it, status 500, /);
  assert.match(
    text,
    /Attempt 2: refused: the actions tier refused it, crm failed_400, /,
    "without the actions process's own 424",
  );
  assert.match(text, /first_name +Ada/);
});

test("dead replay makes dead letters pending again, prints their ids in order and keeps their attempts", async () => {
  const [a, b] = [await dead(acme), await dead(box)];
  assert.deepEqual(await ctl(["dead", "replay", b, a, b, "--dry-run"], on), {
    replayed: [a, b],
    dry_run: true,
  });
  assert.equal((await show(a)).state, "dead");
  assert.deepEqual(await ctl(["dead", "replay", b, a], on), { replayed: [a, b], dry_run: false });
  const { state, reason } = await show(a);
  assert.deepEqual([state, reason], ["pending", "replayed"]);

  await attempt({ verdict: "delivered", outcome: "delivered", status: 200 });
  const delivered = await show(a);
  assert.deepEqual(
    delivered.attempts.map((one: { number: number; outcome: string }) => [one.number, one.outcome]),
    [
      [1, "refused"],
      [2, "delivered"],
    ],
  );
  const [figures] = await sql`select pending::int, dead::int from beat(0)`;
  assert.deepEqual({ ...figures }, { pending: 0, dead: 0 });
});

test("dead replay with an id that is not dead replays none and exits 1", async () => {
  const id = await dead(acme);
  const { event_id: waiting } = await accept(sql, acme);
  const unknown = id.replace(/^../, "00");
  const { code, stdout, stderr } = await runCtl(["dead", "replay", id, waiting, unknown, "--json"], on);
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    `Not dead: ${unknown} (no such event), ${waiting} (pending); ctl dead list shows dead letters; nothing was replayed\n`,
  );
  assert.equal((await show(id)).state, "dead");
  assert.equal((await runCtl(["dead", "replay", unknown, "--dry-run"], on)).code, 1);
});

/** Lets an event die `daysAgo` with a reason, and returns its id. */
async function deadFor(keyId: string, reason: string, daysAgo = 0): Promise<string> {
  const [row] = await sql<{ event_id: string }[]>`
    with made as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags)
      select new_event_id(event_id_at(service_clock() - make_interval(days => ${daysAgo})), 1), 'lead', k.tenant_id, k.id,
        service_clock(), 'k', '{}'
      from api_key as k where k.id = ${keyId}::int
      returning event_id, tenant_id
    )
    insert into dead_letter (event_id, tenant_id, died_at, reason)
    select event_id, tenant_id, service_clock(), ${reason} from made returning event_id`;
  return row?.event_id as string;
}

test("dead list and dead replay --all select by tenant, source, reason, destination and time", async () => {
  const phone = (await ctl(["key", "issue", "acme", "--label", "phone"], on)).id;
  const ids = {
    crm: await deadFor(acme, "crm failed: http_422", 9),
    both: await deadFor(phone, "crm failed: HTTP_503; email failed: smtp_rejected_550", 2),
    mail: await deadFor(box, "email failed: timeout_answer"),
    lost: await deadFor(box, "lost"),
  };
  const cases = [
    [[], ["crm", "both", "mail", "lost"]],
    [["--tenant", "acme"], ["crm", "both"]],
    [["--source", "phone"], ["both"]],
    [["--reason", "http_503"], ["both"]],
    [["--to", "crm"], ["crm", "both"]],
    [["--to", "email", "--tenant", "box"], ["mail"]],
    [["--to", "slack"], []],
    [["--since", "3d"], ["both", "mail", "lost"]],
    [["--since", "10d", "--until", "1d"], ["crm", "both"]],
  ] as const;
  for (const [options, names] of cases) {
    const expected = names.map((name) => ids[name]).sort();
    const listed = (await ctl(["dead", "list", ...options], on)).map((row: { event_id: string }) =>
      row.event_id
    );
    assert.deepEqual(listed.sort(), expected, options.join(" "));
  }
  assert.deepEqual((await ctl(["dead", "replay", "--all", "--to", "crm", "--yes"], on)).replayed, [
    ids.crm,
    ids.both,
  ]);
  const left = await sql`select event_id from dead_letter order by 1`;
  assert.deepEqual(left.map((row) => row.event_id), [ids.mail, ids.lost].sort());
});

test("dead replay --all asks on a terminal, and needs --yes without one", async () => {
  const ids = [await deadFor(acme, "lost"), await deadFor(box, "lost")];
  const question = "Replay 2 dead letters of all tenants?";
  const { code, stderr } = await runCtl(["dead", "replay", "--all"], on);
  assert.deepEqual([code, stderr.split("\n")[0]], [
    2,
    `${question} Without a terminal, --yes is required; nothing was changed`,
  ]);
  for (const [answer, count] of [["n", 2], ["", 2], ["y", 0]] as const) {
    const { stdout: shown } = spawnSync(
      "script",
      ["-qec", `${process.execPath} --no-warnings scripts/ctl.ts dead replay --all`, "/dev/null"],
      { input: `${answer}\n`, encoding: "utf8", env: { ...process.env, DATABASE_URL: databaseUrl } },
    );
    assert.ok(shown.includes(`${question} [y/N]`), shown);
    assert.match(shown, count === 0 ? /Replayed 2 dead letters\./ : /Nothing was changed/);
    assert.equal((await sql`select from dead_letter`).length, count, answer);
  }
  assert.equal((await sql`select from outbox where event_id in ${sql(ids)}`).length, 2);
});

test("operators who replay all at once replay each dead letter once", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) ids.push(await deadFor(acme, "lost"));
  await sql`delete from audit`;
  const replies = await Promise.all([1, 2, 3].map(() => ctl(["dead", "replay", "--all", "--yes"], on)));
  assert.deepEqual(replies.flatMap(({ replayed }) => replayed).sort(), ids.sort());
  const noted = await sql`select subject from audit where action = 'dead.replay'`;
  assert.deepEqual(noted.map(({ subject }) => subject).sort(), ids);
  assert.equal((await sql`select from outbox`).length, ids.length);
});

test("dead replay --all replays in batches, and --dry-run only prints the ids", async () => {
  await sql`
    with made as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags)
      select new_event_id(event_id_at(to_timestamp(n)), 1), 'lead', k.tenant_id, k.id, service_clock(), 'k', '{}'
      from generate_series(1, 2500) as n, api_key as k where k.id = ${acme}::int
      returning event_id, tenant_id
    ),
    buried as (
      insert into dead_letter (event_id, tenant_id, died_at)
      select event_id, tenant_id, service_clock() from made
    )
    insert into outbox_tally (state, delta) select 'dead', count(*) from made`;
  const dry = await ctl(["dead", "replay", "--all", "--dry-run"], on);
  assert.equal(dry.dry_run, true);
  assert.equal(dry.replayed.length, 2_500);
  assert.equal((await ctl(["dead", "list", "--limit", "9999"], on)).length, 2_500);
  const done = await ctl(["dead", "replay", "--all", "--yes"], on);
  assert.deepEqual(done.replayed, dry.replayed);
  assert.deepEqual(done.replayed, [...done.replayed].sort());
  const [figures] = await sql`select pending::int, dead::int from beat(0)`;
  assert.deepEqual({ ...figures }, { pending: 2_500, dead: 0 });
  // One commit per batch.
  assert.equal((await sql`select from outbox_tally where state = 'pending'`).length, 3);
});
