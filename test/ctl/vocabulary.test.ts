import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { accept, ordinaryLead } from "../support/ctl/event.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

async function statusOf(area: string): Promise<string | undefined> {
  const areas = await ctl(["vocabulary", "list"], on);
  return areas.find((listed: { area: string }) => listed.area === area)?.status;
}

test("vocabulary list shows the 37 confirmed terms in alphabetical order", async () => {
  const areas = await ctl(["vocabulary", "list"], on);
  assert.equal(areas.length, 37);
  assert.deepEqual(areas[0], { area: "attic", status: "confirmed" });
  assert.match((await runCtl(["vocabulary", "list"], on)).stdout, /^AREA +STATUS\nattic +confirmed\n/);
});

test("vocabulary add normalizes a term as in a lead and keeps its case", async () => {
  assert.deepEqual(await ctl(["vocabulary", "add", "  Wine \u3000\t Cellar\x07 "], on), {
    area: "Wine Cellar",
    status: "confirmed",
  });
  assert.deepEqual(await ctl(["vocabulary", "add", "gazebo", "--status", "proposed"], on), {
    area: "gazebo",
    status: "proposed",
  });
  assert.equal(await statusOf("Wine Cellar"), "confirmed");
});

test("vocabulary add refuses an existing term in another case, also beyond ASCII", async () => {
  await ctl(["vocabulary", "add", "Überdachung"], on);
  for (const [area, as] of [["wine  CELLAR", "Wine Cellar"], ["ÜBERDACHUNG", "Überdachung"]] as const) {
    const { code, stdout, stderr } = await runCtl(["vocabulary", "add", area, "--json"], on);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.equal(stderr, `The vocabulary already has "${as}" (confirmed)\n`);
  }
});

test("vocabulary confirm confirms a term in any case; a second time changes nothing", async () => {
  assert.deepEqual(await ctl(["vocabulary", "confirm", "GAZEBO"], on), {
    area: "gazebo",
    status: "confirmed",
  });
  assert.equal(await statusOf("gazebo"), "confirmed");
  assert.match((await runCtl(["vocabulary", "confirm", "gazebo"], on)).stdout, /is already confirmed/);
});

test("vocabulary retire retires a term; only vocabulary add restores it, with its new spelling", async () => {
  assert.deepEqual(await ctl(["vocabulary", "retire", "gazebo"], on), { area: "gazebo", status: "retired" });
  assert.equal(await statusOf("gazebo"), "retired");
  const confirm = await runCtl(["vocabulary", "confirm", "gazebo"], on);
  assert.equal(confirm.code, 1);
  assert.match(confirm.stderr, /is retired; ctl vocabulary add "gazebo" restores it/);
  assert.deepEqual(await ctl(["vocabulary", "add", "Gazebo", "--status", "proposed"], on), {
    area: "Gazebo",
    status: "proposed",
  });
  assert.equal(await statusOf("gazebo"), undefined);
  assert.equal(await statusOf("Gazebo"), "proposed");
});

test("vocabulary unknown lists terms by count and tenant, without those added since", async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "box", "--sandbox"], on);
  const acme = (await ctl(["key", "issue", "acme", "--label", "x"], on)).id;
  const box = (await ctl(["key", "issue", "box", "--label", "x"], on)).id;
  const accepted = (keyId: string, area: string) =>
    accept(sql, keyId, {
      flags: "project_area_unknown",
      lead: JSON.stringify({ ...ordinaryLead, project_area: area }),
    });
  await accepted(acme, "moat");
  for (const _ of [1, 2, 3]) await accepted(acme, "Drawbridge");
  await accepted(box, "moat");
  await accepted(box, "WINE CELLAR");

  const terms = await ctl(["vocabulary", "unknown"], on);
  assert.deepEqual(
    terms.map(({ tenant, term, count }: Record<string, unknown>) => [tenant, term, count]),
    [["acme", "Drawbridge", 3], ["box", "moat", 1], ["acme", "moat", 1]],
  );
  assert.ok(terms[0].first_at <= terms[0].last_at);
  assert.match(terms[0].last_at, /^\d{4}-\d{2}-\d{2}T[\d:]{8}\.\d{3}Z$/);
  assert.equal((await ctl(["vocabulary", "unknown", "--tenant", "box"], on)).length, 1);
  assert.equal((await ctl(["vocabulary", "unknown", "--limit", "2"], on)).length, 2);

  await ctl(["vocabulary", "add", "moat"], on);
  assert.equal((await ctl(["vocabulary", "unknown"], on)).length, 1);
  await ctl(["vocabulary", "retire", "moat"], on);
  assert.equal((await ctl(["vocabulary", "unknown"], on)).length, 3);
});
