import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { until } from "../support/until.ts";
import { lead, World } from "../support/world.ts";

const own = await ownPostgres();
const world = await World.open(own.url);
world.expectLogged("totals_kept");
const server = await world.start();
const read = (path: string) => get(`${server.urls.ops}${path}`, { localAddress: "127.0.0.1" });

test("with the store away the search and the report are 503 at once, the metrics go on and say so, and all returns with it", async () => {
  const key = await world.issue();
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
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
