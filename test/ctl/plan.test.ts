import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readPlans } from "../../src/store/serving/plans.ts";
import { openAdminPool } from "../../src/store/operator/admin_pool.ts";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { temporaryFolder } from "../support/folder.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
const folder = temporaryFolder("plans");

function file(content: unknown): string {
  const path = join(folder, "plans.json");
  writeFileSync(
    path,
    typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content),
  );
  return path;
}

const plan = (members: Readonly<Record<string, unknown>> = {}) => ({
  slug: "basic",
  name: "Basic",
  customer: "acme",
  amount_cents: 2900,
  interval: "month",
  items: [{ title: "Leads", detail: "Up to 100 a month" }],
  ...members,
});

async function audit(): Promise<unknown[]> {
  return [...await sql`select actor, action, subject, detail from audit order by id`];
}

test("plan put adds and changes plans, plan list --json prints the feed's objects, and each change is audited", async () => {
  const year = plan({ slug: "yearly", amount_cents: 29_000, interval: "year" });
  assert.deepEqual(await ctl(["plan", "put", file([year, plan()])], on), [
    { slug: "yearly", change: "added" },
    { slug: "basic", change: "added" },
  ]);
  assert.deepEqual(await ctl(["plan", "list"], on), [plan(), year]);

  const dearer = plan({ amount_cents: 3900 });
  assert.deepEqual(await ctl(["plan", "put", file([dearer, year])], on), [
    { slug: "basic", change: "changed" },
    { slug: "yearly", change: "unchanged" },
  ]);
  assert.deepEqual(await ctl(["plan", "put", file(JSON.stringify(dearer, null, 4))], on), [
    { slug: "basic", change: "unchanged" },
  ]);
  assert.match(
    (await runCtl(["plan", "list"], on)).stdout,
    /^CUSTOMER +SLUG +NAME +PRICE +INTERVAL\nacme +basic +Basic +\$39\.00 +month\nacme +yearly +Basic +\$290\.00 +year\n$/,
  );

  assert.deepEqual(await ctl(["plan", "remove", "yearly"], on), { slug: "yearly", change: "removed" });
  assert.deepEqual(await ctl(["plan", "list"], on), [dearer]);
  const again = await runCtl(["plan", "remove", "yearly"], on);
  assert.deepEqual([again.code, again.stderr], [1, "There is no plan yearly; see ctl plan list\n"]);

  const [actor] = (await sql`select 'ctl ' || current_user as actor`).map((row) => row.actor);
  const entry = (action: string, subject: string, detail: unknown) => ({ actor, action, subject, detail });
  assert.deepEqual(await audit(), [
    entry("plan.put", "basic", { change: "added", amount_cents: 2900 }),
    entry("plan.put", "yearly", { change: "added", amount_cents: 29_000 }),
    entry("plan.put", "basic", { change: "changed", amount_cents: 3900 }),
    entry("plan.remove", "yearly", null),
  ]);
});

test("plan put reports every fault of a file with its path, exits 2 and stores nothing", async () => {
  const before = await ctl(["plan", "list"], on);
  const text = `[
    {"slug": "One", "name": " ", "amount_cents": 29.5, "interval": "monthly", "items": {}},
    {"slug": "two", "name": 2, "customer": "a\\u0007b", "amount_cents": "2900", "interval": "week",
     "items": [{"title": "x"}, 7, {"title": "", "detail": "d", "detail": "e"}]},
    {"slug": "two", "name": "n", "customer": "c", "amount_cents": 1, "amount_cents": 2, "interval": "day",
     "items": [], "note": "\\ud800"},
    "three"
  ]`;
  const { code, stdout, stderr } = await runCtl(["plan", "put", file(text)], on);
  assert.equal(code, 1);
  assert.equal(stdout, "");
  for (
    const fault of [
      "[0].slug is not 1 to 64 characters (a-z, 0-9 or hyphen), or starts or ends with a hyphen",
      "[0].name is blank",
      "[0].customer is missing",
      "[0].amount_cents is not a whole number of cents from 0 to 99999999",
      "[0].interval is not one of day, week, month, year",
      "[0].items is not an array",
      "[1].name is not a string",
      "[1].customer contains control characters",
      "[1].amount_cents is not a whole number of cents from 0 to 99999999",
      "[1].items[0].detail is missing",
      "[1].items[1] is not an object",
      '[1].items[2] has "detail" twice',
      "[1].items[2].title is blank",
      '[2] has "amount_cents" twice',
      "[2] contains half of a surrogate pair, which strict parsers refuse",
      "[2].slug is the same as [1].slug",
      "[3] is not an object",
    ]
  ) assert.ok(stderr.split("\n").includes(`  ${fault}`), `${fault}\n${stderr}`);
  assert.deepEqual(await ctl(["plan", "list"], on), before);
});

test("plan put preserves unknown members, digits, escapes and member order", async () => {
  const extras =
    '"z":1.10,"__proto__":{"constructor":[1E400,12345678901234567890]},"nul":"\\u0000","a":{"é":"\\u00e9"}';
  const body = `{"slug":"extra","amount_cents":0,"interval":"day","name":"N","customer":"c",` +
    `"items":[{"title":"t","detail":"","icon":"\\u2713","rank":1.0}],${extras}}`;
  await ctl(["plan", "put", file(body.replaceAll(",", " ,\n "))], on);
  const [row] = await sql`select body::text as body from plan where slug = 'extra'`;
  assert.equal(row?.body, body);
  const pool = openAdminPool(databaseUrl);
  const plans = await readPlans(pool);
  await pool.close();
  const read = plans.find(({ slug }) => slug === "extra");
  assert.equal(read?.json, body);
  assert.deepEqual(read?.items, [{ title: "t", detail: "" }]);
});
