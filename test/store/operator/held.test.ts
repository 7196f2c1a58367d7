import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, test } from "node:test";
import { countHeld, listHeld, releaseSubmission } from "../../../src/store/operator/held.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { createRole, type TestRole } from "../../support/actions/actions_process.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
let role: TestRole;
/** As the service, for whose console it is too. */
let pool: Pool;
const forms: Record<string, { id: number; keyId: number; tenantId: number }> = {};

before(async () => {
  role = await createRole(databaseUrl, "lead_service");
  pool = openPool(role.url, { connectionsMax: 2 });
  for (const slug of ["acme", "other"]) {
    const [tenant] = await admin`insert into tenant (slug, name) values (${slug}, ${slug}) returning id`;
    const [key] = await admin`
      insert into api_key (tenant_id, surface, label, digest, last4)
      values (${tenant?.id}, 'forms', 'web', sha256(${slug}::text::bytea), '0000') returning id`;
    const [form] = await admin`
      insert into form (tenant_id, form_key, required) values (${tenant?.id}, 'contact', '{name}') returning id`;
    forms[slug] = { id: form?.id, keyId: key?.id, tenantId: tenant?.id };
  }
});

async function store(verdict: string, slug = "acme"): Promise<string> {
  const { id, keyId } = forms[slug] as { id: number; keyId: number };
  const [row] = await admin<{ event_id: string }[]>`
    select event_id from accept(
      '{form}', ${[keyId]}, '{C}', ${[randomUUID()]}, ${[randomUUID()]}, ${[null]}, '{""}', '{"{}"}', ${[
    null,
  ]},
      '{"{}"}', ${[null]}, ${[null]}, 24, 'test', ${[id]}, ${[verdict]}, '{80}', '{links}', ${[null]}, ${[
    null,
  ]},
      ${[null]}, 10)`;
  return row?.event_id as string;
}

test("held submissions come in pages, the newest first, each once, of one tenant or of all", async () => {
  const ids: string[] = [];
  for (const verdict of ["spam", "clean", "honeypot", "spam", "spam"]) {
    const id = await store(verdict);
    if (verdict !== "clean") ids.unshift(id);
  }
  const foreign = await store("spam", "other");
  const tenantId = forms.acme?.tenantId as number;
  const paged: string[] = [];
  for (let before: string | null = null;;) {
    const page = await listHeld(pool, { tenantId, limit: 2, before });
    paged.push(...page.map(({ submissionId }) => submissionId));
    const last = page.at(-1);
    if (last === undefined) break;
    before = last.submissionId;
  }
  assert.deepEqual(paged, ids);
  const all = await listHeld(pool, { tenantId: null, limit: 10, before: null });
  assert.deepEqual(all.map(({ submissionId }) => submissionId), [foreign, ...ids]);
});

test("of many releases at once one releases; the outbox has one row, the audit too, and listeners are told", async () => {
  const id = await store("spam");
  const notified = Promise.withResolvers<string>();
  const listening = await admin.listen("outbox", (payload) => notified.resolve(payload));
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, index) => releaseSubmission(pool, id, `10.0.0.${index}`)),
  );
  assert.deepEqual(outcomes.sort(), [...Array(7).fill("already"), "released"]);
  assert.equal(await notified.promise, "");
  await listening.unlisten();
  const [row] = await admin`
    select (select count(*)::int from outbox where event_id = ${id}) as queued,
      (select count(*)::int from audit where subject = ${id} and action = 'submission.release') as noted,
      (select actor like 'console test%' and claimed ~ '^10[.]0[.]0[.][0-7]$' from audit where subject = ${id}) as named`;
  assert.deepEqual({ ...row }, { queued: 1, noted: 1, named: true });
});

test("a release that cannot write its audit row releases nothing", async () => {
  const id = await store("spam");
  await admin.unsafe(`alter table audit add constraint refused check (subject <> '${id}') not valid`);
  await assert.rejects(releaseSubmission(pool, id, "10.0.0.1"), { code: "23514" });
  await admin`alter table audit drop constraint refused`;
  const [row] = await admin`
    select released_at, (select count(*)::int from outbox where event_id = ${id}) as queued
    from submission where event_id = ${id}`;
  assert.deepEqual({ ...row }, { released_at: null, queued: 0 });
  assert.equal(await releaseSubmission(pool, id, "10.0.0.1"), "released");
});

test("the database refuses forms without a required field and form keys that have a second spelling", async () => {
  const { tenantId } = forms.acme as { tenantId: number };
  for (
    const [formKey, required] of [
      ...[["empty", []], ["a/b", ["x"]], ["%41", ["x"]], ["..", ["x"]], ["é", ["x"]], ["", ["x"]]],
      ["a".repeat(65), ["x"]],
    ] as [string, string[]][]
  ) {
    const adding = admin`
      insert into form (tenant_id, form_key, required) values (${tenantId}, ${formKey}, ${required})`;
    await assert.rejects(adding, { code: "23514" }, formKey);
  }
});

test("what was erased is neither listed nor counted as held", async () => {
  const { tenantId } = forms.other as { tenantId: number };
  const listed = async () => (await listHeld(pool, { tenantId, limit: 100, before: null })).length;
  const before = await listed();
  const [gone] = [await store("spam", "other"), await store("honeypot", "other")];
  assert.deepEqual([await listed(), await countHeld(pool, tenantId)], [
    before + 2,
    { count: before + 2, isMore: false },
  ]);
  await admin`select erase_event(${gone as string}, null, '{}')`;
  assert.deepEqual([await listed(), await countHeld(pool, tenantId)], [
    before + 1,
    { count: before + 1, isMore: false },
  ]);
});
