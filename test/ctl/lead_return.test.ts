import assert from "node:assert/strict";
import { before, test } from "node:test";
import { accept } from "../support/ctl/event.ts";
import { ctl, runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
let key: string;

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "acme"], on);
  key = (await ctl(["key", "issue", "acme", "--label", "web", "--campaign", "spring"], on)).id;
});

async function campaignCents() {
  const [{ spend_cents, credit_cents, net_cents }] = await ctl(["campaign", "list"], on);
  return [spend_cents, credit_cents, net_cents];
}

const refused = async (args: readonly string[]) => {
  const { code, stdout, stderr } = await runCtl(["lead", "return", ...args], on);
  assert.deepEqual([code, stdout], [1, ""]);
  return stderr;
};

test("a returned lead is marked and credits its cost until the return is undone, each once and audited", async () => {
  const { event_id: id } = await accept(sql, key, { costCents: 1234 });
  const note = "says she never asked";
  const returned = await ctl(["lead", "return", id, "--reason", "wrong_number", "--note", note], on);
  assert.deepEqual(returned, {
    event_id: id,
    outcome: "returned",
    reason: "wrong_number",
    credit_cents: 1234,
  });
  assert.match(await refused([id, "--reason", "spam"]), /already returned; ctl lead return \w+ --undo takes/);
  const shown = (await ctl(["lead", "show", id], on)).returned;
  assert.deepEqual(shown, { reason: "wrong_number", credit_cents: 1234, at: shown.at, by: shown.by, note });
  assert.match(
    (await runCtl(["lead", "show", id], on)).stdout,
    /Returned +wrong_number, \$12\.34 credited, .* by .*\nNote +says/,
  );
  const [listed] = await ctl(["lead", "list"], on);
  assert.deepEqual([listed.returned.reason, listed.returned.note], ["wrong_number", undefined]);
  assert.match((await runCtl(["lead", "list"], on)).stdout, /wrong_number/);
  await sql`select fold_counts()`;
  assert.deepEqual(await campaignCents(), [1234, 1234, 0]);

  const undone = await ctl(["lead", "return", id, "--undo"], on);
  assert.deepEqual([undone.outcome, undone.credit_cents], ["undone", -1234]);
  assert.match(await refused([id, "--undo"]), /is not returned; nothing was changed/);
  assert.deepEqual(await campaignCents(), [1234, 0, 1234]);
  assert.equal((await ctl(["lead", "show", id], on)).returned, undefined);
  const audit = (await ctl(["audit", "list", "--subject", id], on)) as { action: string; detail: unknown }[];
  assert.deepEqual(audit.map(({ action, detail }) => [action, detail]), [
    ["lead.undo_return", { credit_cents: -1234 }],
    ["lead.return", { reason: "wrong_number", credit_cents: 1234 }],
  ]);
  const [row] = await sql`select lead ->> 'cost_cents' as cost from event where event_id = ${id}`;
  assert.equal(row?.cost, "1234", "the lead itself is unchanged");
});

test("of operators who return or undo a return at once, exactly one succeeds", async () => {
  const { event_id: id } = await accept(sql, key, { costCents: 1234 });
  const outcomes = (reason: string | null) =>
    Promise.all(Array.from({ length: 8 }, async () => {
      const [row] = await sql`select outcome from return_lead(${id}, ${reason}, null)`;
      return row?.outcome;
    }));
  for (const _ of [1, 2]) {
    assert.deepEqual((await outcomes("spam")).sort(), [...Array(7).fill("already"), "returned"]);
    assert.deepEqual((await outcomes(null)).sort(), [...Array(7).fill("not_returned"), "undone"]);
  }
  const [sum] =
    await sql`select count(*)::int as rows, sum(cents)::int as cents from lead_return where event_id = ${id}`;
  assert.deepEqual({ ...sum }, { rows: 4, cents: 0 });
});

test("an erasure removes the note and keeps the credit, and later returns have no note", async () => {
  const lead = JSON.stringify({ phone: "+15550009999", cost_cents: 200 });
  const { event_id: id } = await accept(sql, key, { lead, costCents: 200 });
  const { event_id: later } = await accept(sql, key, { lead, costCents: 200 });
  const [, credit = 0] = await campaignCents();
  await ctl(["lead", "return", id, "--reason", "other", "--note", "Ada moved"], on);
  for (const event of [id, later]) await ctl(["erase", "--event", event], on);
  const { returned } = await ctl(["lead", "show", id], on);
  assert.deepEqual([returned.credit_cents, returned.note], [200, null]);
  assert.match(await refused([later, "--reason", "other", "--note", "Ada"]), /leave out --note/);
  assert.equal((await ctl(["lead", "return", later, "--reason", "other"], on)).credit_cents, 200);
  assert.equal((await campaignCents())[1], credit + 400);
  const [found] = await sql`select count(*)::int as notes from lead_return where note is not null`;
  assert.equal(found?.notes, 1, "only that of the first test");
});

test("a submission and an unknown event are refused, and a lead without a cost is credited nothing", async () => {
  const { event_id: form } = await accept(sql, key, { kind: "form" });
  assert.match(
    await refused([form, "--reason", "spam"]),
    /ctl form spam \w+ reports it as spam; nothing was/,
  );
  assert.match(
    await refused(["0".repeat(38), "--reason", "spam"]),
    /There is no event 0+; see ctl lead list/,
  );
  const { event_id: free } = await accept(sql, key, { lead: "{}" });
  assert.match(
    (await runCtl(["lead", "return", free, "--reason", "spam"], on)).stdout,
    /is returned \(spam\); \$0\.00 was credited/,
  );
});
