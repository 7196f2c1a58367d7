import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusReader } from "../../../src/store/jobs/status.ts";
import {
  countHeld,
  dismissSubmission,
  listHeld,
  readHeldCounts,
  releaseSubmission,
} from "../../../src/store/operator/held.ts";
import { readReport } from "../../../src/store/operator/report.ts";
import { createRole } from "../../support/actions/actions_process.ts";
import { openPool } from "../../support/pool.ts";
import { acceptPosts } from "../../support/accept.ts";
import { ctl } from "../../support/server.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const admin = testEnv.sql;
const role = await createRole(testEnv.database.url, "lead_service");
/** As the service's role, which the console uses. */
const pool = openPool(role.url, { connectionsMax: 2 });
const acme = await testEnv.formWithKey();
const other = await testEnv.formWithKey();

const decision = (operator: string) => ({ operator, labelFeatures: () => [] });

async function store(
  verdict: string,
  { form, key }: typeof acme = acme,
  score = 80,
): Promise<string> {
  const [row] = await acceptPosts(admin, [
    { keyId: key.id, space: "C", lead: "{}", formId: form.id, verdict, score, reasons: "links" },
  ]);
  return row?.event_id as string;
}

/** Returns the ids of all pages. */
async function paged(filter: Parameters<typeof countHeld>[1], limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Parameters<typeof listHeld>[1]["after"] = null;;) {
    const page = await listHeld(pool, { ...filter, limit, after });
    ids.push(...page.map(({ submissionId }) => submissionId));
    after = page.at(-1) ?? null;
    if (after === null) return ids;
  }
}

test("held submissions are paged by ascending score, each once, filtered by tenant, verdict and reason", async () => {
  const [a, , b, c, d] = [
    await store("spam", acme, 60),
    await store("clean", acme, 0),
    await store("honeypot", acme, 0),
    await store("spam", acme, 90),
    await store("spam", acme, 60),
  ];
  const foreign = await store("spam", other, 70);
  const tenantId = acme.form.tenant.id;
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

test("the counts of the list, ctl, the status and the report agree, with honeypot hits apart", async () => {
  const { form, key } = await testEnv.formWithKey();
  await admin`update submission set dismissed_at = now() where verdict <> 'clean'`;
  for (const verdict of ["spam", "spam", "honeypot", "clean", "spam"]) {
    await store(verdict, { form, key });
  }
  const [dismissed] = await listHeld(pool, { tenantId: null, verdict: "spam", limit: 1, after: null });
  await dismissSubmission(pool, dismissed?.submissionId as string, decision("Ada"));
  const on = { databaseUrl: testEnv.database.url };
  assert.deepEqual(await readHeldCounts(pool, null), {
    toReview: { count: 2, isMore: false },
    honeypotHits: { count: 1, isMore: false },
  });
  assert.equal((await ctl(["form", "held"], on)).length, 2);
  const status = new StatusReader(pool, () => Promise.resolve(0));
  await status.runOnce();
  assert.equal(status.current?.held, 2);
  const since = new Date(Date.now() - 86_400_000).toISOString();
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const { figures } = await readReport(pool, { since, until, tenant: form.tenant.slug });
  assert.deepEqual(figures.map(({ held, heldApart }) => [held, heldApart]), [[2, 2]]);
});

test("concurrent releases release once: one outbox row, one audit row, listeners notified", async () => {
  const id = await store("spam");
  const notified = Promise.withResolvers<string>();
  const listening = await admin.listen("outbox", (payload) => notified.resolve(payload));
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, index) => releaseSubmission(pool, id, decision(`10.0.0.${index}`))),
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
