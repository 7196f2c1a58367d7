import assert from "node:assert/strict";
import { test } from "node:test";
import { navigation } from "../../src/ops/console/router.ts";
import { get } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { until } from "../support/until.ts";
import { lead, TestEnv } from "../support/test_env.ts";

/** What an operator sees while the store is unavailable. */
const own = await ownPostgres();
const testEnv = await TestEnv.open(own.url);
testEnv.expectLogged("totals_kept");
const server = await testEnv.start();
const read = (path: string) => get(`${server.urls.ops}${path}`, { localAddress: "127.0.0.1" });

test("without the store, search and report answer 503 at once, the metrics report it, and all recovers", async () => {
  const key = await testEnv.issue();
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 202);
  assert.equal((await read("/v1/leads")).json.leads.length, 1);
  assert.equal((await read("/v1/report")).json.rows.length, 1);

  own.freeze();
  const writable = async () => /\nlead_store_writable (\d)\n/.exec((await read("/metrics")).text)?.[1];
  await until(async () => await writable() === "0");
  for (const path of ["/v1/leads", "/v1/report", "/v1/leads", "/v1/report"]) {
    const { status, json, headers } = await read(path);
    assert.deepEqual(
      [status, json],
      [503, { error: "not_available", request_id: headers["x-request-id"] }],
      path,
    );
    assert.equal(headers["cache-control"], "no-store");
  }
  assert.equal((await read("/debug/vars")).json.lead_store_writable, 0);

  own.thaw();
  await until(async () => await writable() === "1");
  await until(async () => (await read("/v1/leads")).status === 200);
  await until(async () => (await read("/v1/report")).status === 200);
});

test("without the store every console page answers 503, the overview shows the last figures, and all recovers", async () => {
  const healthy = await read("/");
  assert.equal(healthy.status, 200);
  assert.doesNotMatch(healthy.text, /not writable|accepts no writes/);
  own.freeze();
  const pages = navigation.map(({ path }) => path);
  const answers = await Promise.all(pages.map(read));
  for (const [index, answer] of answers.entries()) {
    assert.equal(answer.status, 503, pages[index]);
    assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
    assert.match(answer.text, /The store (is unavailable|does not respond|accepts no writes)/);
  }
  await until(async () => (await read("/")).text.includes("The store accepts no writes"));
  const overview = await read("/");
  assert.equal(overview.status, 503);
  assert.match(overview.text, /not writable/);
  assert.equal(overview.headers.refresh, undefined, "a page reloads only on request");
  assert.equal((await read("/?refresh=on")).headers.refresh, "30");
  assert.match(overview.text, /<title>\d problems? – /);
  own.thaw();
  await until(async () => (await read("/")).status === 200);
  assert.equal((await read("/dead")).status, 200);
});
