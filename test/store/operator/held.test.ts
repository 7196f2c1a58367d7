import assert from "node:assert/strict";

import { before, test } from "node:test";
import { countHeld, listHeld, releaseSubmission } from "../../../src/store/operator/held.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { createRole, type TestRole } from "../../support/actions/actions_process.ts";
import { openPool } from "../../support/pool.ts";
import { acceptPosts } from "../../support/accept.ts";
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

async function store(
  verdict: string,
  { slug = "acme", score = 80, fields = {} }: { slug?: string; score?: number; fields?: object } = {},
): Promise<string> {
  const { id, keyId } = forms[slug] as { id: number; keyId: number };
  const [row] = await acceptPosts(admin, [
    { keyId, space: "C", lead: JSON.stringify(fields), formId: id, verdict, score, reasons: "links" },
  ]);
  return row?.event_id as string;
}

/** Their ids, all of them, page by page. */
async function paged(filter: Parameters<typeof countHeld>[1], limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Parameters<typeof listHeld>[1]["after"] = null;;) {
    const page = await listHeld(pool, { ...filter, limit, after });
    ids.push(...page.map(({ submissionId }) => submissionId));
    after = page.at(-1) ?? null;
    if (after === null) return ids;
  }
}

test("held submissions come in pages, the lowest score first, each once, of one tenant or of all, by verdict and reason", async () => {
  const [a, , b, c, d] = [
    await store("spam", { score: 60 }),
    await store("clean", { score: 0 }),
    await store("honeypot", { score: 0 }),
    await store("spam", { score: 90 }),
    await store("spam", { score: 60 }),
  ];
  const foreign = await store("spam", { slug: "other", score: 70 });
  const tenantId = forms.acme?.tenantId as number;
  for (const limit of [1, 2, 3]) {
    assert.deepEqual(await paged({ tenantId, verdict: "spam" }, limit), [a, d, c]);
  }
  assert.deepEqual(await paged({ tenantId: null, verdict: "spam" }, 2), [a, d, foreign, c]);
  assert.deepEqual(await paged({ tenantId: null, verdict: "honeypot" }, 2), [b]);
  for (const [reason, number] of [["links", 3], ["wording", 0]] as const) {
    const filter = { tenantId, verdict: "spam", reason } as const;
    assert.equal((await paged(filter, 10)).length, number);
    assert.deepEqual(await countHeld(pool, filter), { count: number, isMore: false });
  }
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
