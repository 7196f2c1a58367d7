import assert from "node:assert/strict";
import { test } from "node:test";
import { ctl } from "../support/server.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const second = await testEnv.start();

async function spendCents(campaignId: number): Promise<number> {
  const [row] = await testEnv.sql<{ cents: number }[]>`
    select spend_cents::int as cents from campaign_spend where campaign_id = ${campaignId}`;
  return row?.cents ?? -1;
}

test("a lead's cost is rounded half up on its decimal digits and added to the key's campaign", async () => {
  const tenant = await testEnv.tenant();
  const campaignId = await testEnv.campaign(tenant);
  const key = await testEnv.issue({ tenant, campaignId });
  const costs = {
    "1.005": 101,
    "0.005": 1,
    "0.01": 1,
    "999.99": 99_999,
    "999.994": 99_999,
    "1e1": 1000,
    "2": 200,
  };
  let sum = 0;
  for (const [cost, cents] of Object.entries(costs)) {
    const body = JSON.stringify(lead()).replace("}", `,"cost":${cost}}`);
    const answer = await testEnv.intake({ key: key.text, body });
    assert.equal(answer.status, 202);
    assert.equal((await testEnv.event(answer.json.event_id)).lead.cost_cents, cents);
    sum += cents;
  }
  assert.equal(await spendCents(campaignId), sum);
});

test("spend is exact under concurrency over two servers, and duplicates, collisions and refusals cost nothing", async () => {
  const tenant = await testEnv.tenant();
  const [first, other] = [await testEnv.campaign(tenant), await testEnv.campaign(tenant)];
  const keys = [
    await testEnv.issue({ tenant, campaignId: first }),
    await testEnv.issue({ tenant, campaignId: first }),
    await testEnv.issue({ tenant, campaignId: other }),
    await testEnv.issue({ tenant }),
  ];
  const expected = new Map([[first, 0], [other, 0]]);
  const posts: Promise<unknown>[] = [];
  for (let n = 0; n < 120; n += 1) {
    const key = keys[n % 4] as typeof keys[0];
    const campaignId = n % 4 < 2 ? first : n % 4 === 2 ? other : null;
    const cents = n + 1;
    if (campaignId !== null) expected.set(campaignId, (expected.get(campaignId) ?? 0) + cents);
    const headers = { "Idempotency-Key": freshKey() };
    const body = lead({ cost: cents / 100 });
    const accepted = testEnv.intake({ key: key.text, body, headers }, n % 3 === 0 ? second : undefined);
    posts.push(accepted.then(async ({ status }) => {
      assert.equal(status, 202);
      const rival = lead({ cost: 500 });
      assert.equal((await testEnv.intake({ key: key.text, body: rival, headers }, second)).status, 200);
      assert.equal((await testEnv.intake({ key: key.text, body, headers })).status, 200);
      assert.equal((await testEnv.intake({ key: key.text, body: lead({ cost: 1000 }) })).status, 422);
    }));
  }
  await Promise.all(posts);
  assert.equal(await spendCents(first), expected.get(first));
  assert.equal(await spendCents(other), expected.get(other));
  const campaigns = await ctl(["campaign", "list", "--tenant", tenant.slug], {
    databaseUrl: testEnv.database.url,
  });
  assert.deepEqual(
    campaigns.map((campaign: { spend_cents: number }) => campaign.spend_cents).sort(),
    [...expected.values()].sort(),
  );
});

test("a lead without a cost, or with null, has none", async () => {
  const tenant = await testEnv.tenant();
  const campaignId = await testEnv.campaign(tenant);
  const key = await testEnv.issue({ tenant, campaignId });
  for (const body of [lead(), lead({ cost: null })]) {
    const { json } = await testEnv.intake({ key: key.text, body });
    assert.equal((await testEnv.event(json.event_id)).lead.cost_cents, undefined);
  }
  assert.equal(await spendCents(campaignId), 0);
});
