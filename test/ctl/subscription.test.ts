import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };

before(async () => {
  await sql`
    insert into subscription (
      plan_slug, plan_name, plan_customer, amount_cents, billing_interval, state, provider_subscription_id, created_at,
      updated_at
    )
    select p, upper(p), 'acme', 2900, 'month', s, 'sub_' || n, now() - n * interval '1 hour', now()
    from unnest(array['basic', 'basic', 'gold'], array['active', 'open', 'active']) with ordinality as u (p, s, n)`;
});

test("subscription list shows the newest first, of a state and of a plan alone when asked", async () => {
  const list = async (...args: string[]) =>
    (await ctl(["subscription", "list", ...args], on)).map((row: Record<string, unknown>) =>
      row.subscription_id
    );
  assert.deepEqual(await list(), ["sub_1", "sub_2", "sub_3"]);
  assert.deepEqual(await list("--state", "active"), ["sub_1", "sub_3"]);
  assert.deepEqual(await list("--plan", "basic", "--state", "open"), ["sub_2"]);
  assert.deepEqual(await list("--limit", "1"), ["sub_1"]);
  assert.match(
    (await runCtl(["subscription", "list", "--plan", "gold"], on)).stdout,
    /^CREATED \(UTC\) +PLAN +PRICE +INTERVAL +STATE +SUBSCRIPTION +CHECKOUT\n.* gold +\$29\.00 +month +active +sub_3 +[0-9a-f-]{36}\n$/,
  );
});

test("a state that there is not is wrong usage", async () => {
  const { code, stderr } = await runCtl(["subscription", "list", "--state", "paid"], on);
  assert.equal(code, 2);
  assert.match(stderr, /--state is none of opening, open, /);
});
