import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import postgres from "postgres";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { accept } from "../support/ctl/event.ts";
import { temporaryFolder } from "../support/folder.ts";

const { databaseUrl, sql } = await openStore();

test("changes to keys, vocabulary and dead letters are audited with the database role and without the key's text", async () => {
  const on = { databaseUrl };
  await ctl(["tenant", "add", "acme"], on);
  const key = await ctl(["key", "issue", "acme", "--label", "web"], on);
  await ctl(["key", "limit", key.id, "--per-minute", "1200", "--burst", "300", "--until", "2999-01-01"], on);
  await ctl(["vocabulary", "add", "sauna", "--status", "proposed"], on);
  await ctl(["vocabulary", "confirm", "sauna"], on);
  await ctl(["vocabulary", "retire", "sauna"], on);
  const { event_id: dead } = await accept(sql, key.id);
  await sql`delete from outbox`;
  await sql`insert into dead_letter select event_id, tenant_id, now(), 'crm_500' from event`;
  await ctl(["dead", "replay", dead], on);
  await ctl(["key", "revoke", key.id], on);
  // No change, no audit entry.
  await ctl(["key", "revoke", key.id], on);

  const [{ role }] = await sql<[{ role: string }]>`select session_user as role`;
  const rows = await sql<{ actor: string; action: string; subject: string; detail: unknown }[]>`
    select actor, action, subject, detail from audit order by id`;
  const ofKey = { tenant: "acme", surface: "intake", label: "web" };
  const entry = (action: string, subject: string, detail: unknown) => ({
    actor: `ctl ${role}`,
    action,
    subject,
    detail,
  });
  assert.deepEqual([...rows], [
    entry("tenant.add", "acme", { sandbox: false }),
    entry("key.issue", key.id, ofKey),
    entry("key.limit", key.id, ofKey),
    entry("area.propose", "sauna", { before: null }),
    entry("area.confirm", "sauna", { before: "proposed" }),
    entry("area.retire", "sauna", { before: "confirmed" }),
    entry("dead.replay", dead, null),
    entry("key.revoke", key.id, ofKey),
  ]);
  assert.ok(!JSON.stringify(rows).includes(key.key));
});

test("changes to tenants, routes, campaigns and networks are audited without addresses and secrets", async () => {
  const on = { databaseUrl };
  const [{ first }] = await sql<[{ first: string }]>`select max(id) as first from audit`;
  await ctl(["tenant", "add", "box", "--name", "Grace Hopper Roofing", "--sandbox"], on);
  await ctl(["tenant", "add", "globex", "--name", "Grace Hopper Roofing"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "globex"], on);
  const route = (...options: string[]) => ctl(["tenant", "route", "globex", ...options], on);
  const { crm_secret: secret } = await route("--crm-url", "https://crm.example.com/t0ken");
  await route("--email", "grace@hopper.example");
  // Reading and unchanged values add no entry.
  await route();
  await route("--email", "grace@hopper.example");
  await route("--rotate-secret");
  await route("--crm-url", "https://crm.example.com/other", "--clear", "email");
  await route("--clear", "crm");
  const until = "2999-01-01T00:00:00.000Z";
  await ctl(["ip", "limit", "203.0.113.7/24", "--per-minute", "600", "--burst", "90", "--until", until], on);
  await ctl(["ip", "limit", "203.0.113.0/24", "--clear"], on);
  for (
    const refused of [
      ["tenant", "add", "box"],
      ["tenant", "route", "box", "--email", "grace@hopper.example"],
      ["campaign", "add", "spring", "--tenant", "globex"],
      ["ip", "limit", "203.0.113.0/24", "--clear"],
    ]
  ) await assert.rejects(ctl(refused, on), refused.join(" "));

  const rows = await sql<{ action: string; subject: string; detail: Record<string, unknown> | null }[]>`
    select action, subject, detail from audit where id > ${first} order by id`;
  const routed = (crm: string, email: string, isNew: boolean) => ({ crm, email, new_secret: isNew });
  assert.deepEqual([...rows].map(({ action, subject, detail }) => [action, subject, detail]), [
    ["tenant.add", "box", { sandbox: true }],
    ["tenant.add", "globex", { sandbox: false }],
    ["campaign.add", "spring", { tenant: "globex" }],
    ["tenant.route", "globex", routed("set", "none", true)],
    ["tenant.route", "globex", routed("kept", "set", false)],
    ["tenant.route", "globex", routed("kept", "kept", true)],
    ["tenant.route", "globex", routed("changed", "cleared", true)],
    ["tenant.route", "globex", routed("cleared", "none", false)],
    ["ip.limit", "203.0.113.0/24", { per_minute: 600, burst: 90, until: rows[8]?.detail?.until }],
    ["ip.clear", "203.0.113.0/24", null],
  ]);
  assert.equal(new Date(rows[8]?.detail?.until as string).toISOString(), until);
  assert.doesNotMatch(JSON.stringify(rows), /grace|hopper|crm\.example|t0ken|whsec/i);
  assert.ok(!JSON.stringify(rows).includes(secret));
});

const on = { databaseUrl };
const folder = temporaryFolder("audit");

/** A line of `ctl audit export`. */
interface Line {
  readonly id: number;
  readonly before: string;
  readonly digest: string;
  readonly [name: string]: unknown;
}

async function exported(): Promise<Line[]> {
  const file = join(folder, "exported.jsonl");
  rmSync(file, { force: true });
  await ctl(["audit", "export", "--append", file], on);
  return readFileSync(file, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line));
}

async function verifyFile(lines: readonly unknown[]) {
  const file = join(folder, "audit.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  // Runs without a database, as on another machine.
  return await runCtl(["audit", "verify", "--file", file], { env: { HOME: folder } });
}

/** Returns the fault that `ctl audit verify` reports, or `null`. */
async function fault(...options: string[]): Promise<string | null> {
  const { code, stderr } = await runCtl(["audit", "verify", ...options], on);
  assert.equal(code, stderr === "" ? 0 : 1);
  return stderr === "" ? null : stderr.trim();
}

/** Changes the audit as its owner, returns the fault that verify reports, and restores the audit. */
async function forge(statement: string): Promise<string | null> {
  await sql.unsafe(
    `create table saved as select * from audit; create table saved_head as select * from audit_head`,
  );
  await sql.unsafe(statement);
  const found = await fault();
  await sql.unsafe(`
    truncate audit; insert into audit select * from saved; drop table saved;
    delete from audit_head; insert into audit_head select * from saved_head; drop table saved_head`);
  assert.equal(await fault(), null);
  return found;
}

test("ctl audit verify names the first row that was changed, removed or inserted", async () => {
  const { rows, head } = await ctl(["audit", "verify"], on);
  const [last = { id: "", digest: "" }] = await sql<{ id: string; digest: string }[]>`
    select id, encode(digest, 'hex') as digest from audit order by id desc limit 1`;
  assert.deepEqual([String(rows), head], [last.id, `${last.id}:${last.digest}`]);
  for (
    const [what, statement, message] of [
      [
        "actor",
        "update audit set actor = 'ctl somebody' where id = 3",
        /row 3 or an earlier one was changed/,
      ],
      [
        "a digest",
        "update audit set digest = sha256('') where id = 2",
        /row 2 or an earlier one was changed/,
      ],
      ["the first row", "delete from audit where id = 1", /row 1 is missing/],
      ["a middle row", "delete from audit where id = 3", /row 3 is missing/],
      ["the last row", `delete from audit where id = ${last.id}`, new RegExp(`row ${last.id} is missing`)],
      ["all rows", "truncate audit", /row 1 is missing/],
      [
        "two swapped rows",
        "update audit set id = -id where id in (3, 4); update audit set id = 7 + id where id in (-3, -4)",
        /row 3 or an earlier one was changed/,
      ],
      [
        "an inserted row",
        `insert into audit (id, at, actor, action, subject, detail, claimed, digest)
         select ${last.id}::bigint + 1, at, actor, action, subject, detail, claimed, digest
         from audit where id = 2; update audit_head set id = id + 1`,
        new RegExp(`row ${Number(last.id) + 1} or an earlier one was changed`),
      ],
      ["the head", "update audit_head set digest = sha256('')", /differs from the head's/],
    ] as const
  ) assert.match(await forge(statement) ?? "no fault", message, what);
});

test("ctl audit verify --head detects an audit truncated together with its head", async () => {
  const { head } = await ctl(["audit", "verify"], on);
  assert.equal(await fault("--head", head), null);
  await ctl(["tenant", "add", "initech"], on);
  assert.equal(await fault("--head", head), null, "rows added since are accepted");
  const { head: later } = await ctl(["audit", "verify"], on);
  await sql.unsafe(`
    delete from audit where id = (select max(id) from audit);
    update audit_head set (id, digest) = (select id, digest from audit order by id desc limit 1)`);
  assert.equal(await fault(), null);
  assert.match(await fault("--head", later) ?? "", /is missing, or differs from the recorded head/);
  for (const wrong of ["1", "x:y", `1:${"g".repeat(64)}`]) {
    assert.equal((await runCtl(["audit", "verify", "--head", wrong], on)).code, 2, wrong);
  }
});

test("ctl audit verify --file checks an export without a database", async () => {
  const lines = await exported();
  const intact = await verifyFile(lines);
  assert.deepEqual([intact.code, intact.stderr], [0, ""]);
  assert.match(intact.stdout, new RegExp(`${lines.length} rows\\.\nHead: ${lines.length}:[0-9a-f]{64}`));
  assert.equal((await verifyFile(lines.slice(3))).code, 0, "a file may start at any row");

  const broken: readonly (readonly [string, unknown[], RegExp])[] = [
    ["a missing row", lines.toSpliced(2, 1), /row 4 does not follow row 2/],
    [
      "a changed row",
      lines.with(2, { ...lines[2], subject: "x" } as Line),
      /row 3 or an earlier one was changed/,
    ],
    ["a repeated row", lines.toSpliced(2, 0, lines[2] as Line), /row 3 does not follow row 3/],
    [
      "another first row",
      [{ ...lines[0], before: "0".repeat(64) }, ...lines.slice(1)],
      /row 1 does not follow row 0/,
    ],
    ["no row", [{ id: 1 }], /Line 1 is not an audit row/],
    ["null", [null], /Line 1 is not an audit row/],
  ];
  for (const [what, rows, message] of broken) {
    const { code, stderr } = await verifyFile(rows);
    assert.equal(code, 1, what);
    assert.match(stderr, message, what);
  }
  const none = await runCtl(["audit", "verify", "--file", join(folder, "none")], {});
  assert.deepEqual([none.code, none.stderr], [1, "The file cannot be read: ENOENT\n"]);
  assert.doesNotMatch(readFileSync(join(folder, "audit.jsonl"), "utf8"), /grace|hopper|t0ken|whsec/i);
});

test("concurrent entries form one chain, and rolled-back entries leave no gap", async () => {
  const many = postgres(databaseUrl, { max: 8, onnotice: () => {} });
  const add = (name: string) => many`select note_audit('test.add', ${name})`.catch(() => {});
  await Promise.all(Array.from({ length: 200 }, async (_, index) => {
    if (index % 3 > 0) return await add(String(index));
    await many`select note_audit('test.add', ${String(index)}), 1 / 0`.catch(() => {});
  }));
  await many.end();
  assert.equal(await fault(), null);
  const [row] = await sql`select count(*)::int as added from audit where action = 'test.add'`;
  assert.equal(row?.added, 133);
});
