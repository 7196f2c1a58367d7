import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { freshAddress, send } from "../support/client.ts";
import { lead, publishedLimits, World } from "../support/world.ts";

const world = await World.open();
const server = await world.start({
  ...publishedLimits,
  PUBLIC_IP_PER_MINUTE: "1",
  PUBLIC_IP_BURST: "10",
});
const published = await world.start(publishedLimits);
const proxied = await world.start({
  PUBLIC_IP_PER_MINUTE: "1",
  PUBLIC_IP_BURST: "1",
  TRUSTED_PROXIES: "127.0.0.0/8",
});
const key = await world.issue();

/** Every public read, and what is not there or not served: all of one budget. */
const reads: readonly (readonly [surface: string, path: string])[] = [
  ["intake", "/v1/vocabulary"],
  ["intake", "/healthz"],
  ["intake", "/api/openapi.json"],
  ["intake", "/nothing/here"],
  ["intake", "/"],
  ["forms", "/healthz"],
  ["subscription", "/api/plans"],
  ["subscription", "/buy/basic"],
  ["site", "/llms.txt"],
  ["site", "/"],
];

/** For people, and for no other site's scripts. */
const isPage = (path: string) => path.startsWith("/buy/");

const get = (surface: string, path: string, localAddress: string, method = "GET") =>
  send(`${server.urls[surface]}${path}`, { method, localAddress });

test("the public reads of one address share one budget; over it each answers 429 with Retry-After", async () => {
  const localAddress = freshAddress();
  for (const [surface, path] of reads) {
    assert.notEqual((await get(surface, path, localAddress)).status, 429, `${surface} ${path}`);
  }
  for (const [surface, path] of reads) {
    for (const method of ["GET", "HEAD", "DELETE"]) {
      const refused = await get(surface, path, localAddress, method);
      assert.equal(refused.status, 429, `${method} ${surface} ${path}`);
      assert.match(String(refused.headers["retry-after"]), /^[1-9]\d*$/);
      assert.equal(refused.headers["cache-control"], "no-store");
      assert.equal(refused.headers["ratelimit-policy"], '"ip";q=1;w=60');
      assert.ok(refused.headers["x-request-id"]);
      if (method === "HEAD") assert.equal(refused.text, "");
      else if (surface === "site") assert.equal(refused.text, "Too many requests\n");
      else if (isPage(path)) assert.match(refused.text, /<h1>Too many attempts<\/h1>/);
      else assert.deepEqual(refused.json, { error: "rate_limited" });
      const mayBeRead = surface === "forms" || isPage(path) ? undefined : "*";
      assert.equal(refused.headers["access-control-allow-origin"], mayBeRead, `${surface} ${path}`);
    }
  }
  assert.equal((await get("intake", "/healthz", freshAddress())).status, 200, "others go on");
});

test("posts have budgets of their own: an address without reads left posts its lead", async () => {
  const localAddress = freshAddress();
  while ((await get("intake", "/healthz", localAddress)).status !== 429);
  const accepted = await world.intake({ key: key.text, body: lead(), localAddress }, server);
  assert.equal(accepted.status, 202);
  const { form, key: formKey } = await world.formWithKey();
  const body = { name: "Grace", email: "grace@example.com" };
  assert.equal((await world.submit(form, { key: formKey.text, body, localAddress }, server)).status, 202);
  assert.equal((await get("intake", "/healthz", localAddress)).status, 429, "and its posts earned it none");
});

test("one address has the published 400 reads at once, which no browser, build or monitor meets", async () => {
  const localAddress = freshAddress();
  const { burst, perMinute } = limits.publicRead;
  assert.deepEqual([burst, perMinute], [400, 1200]);
  for (let read = 0; read < burst; read += 1) {
    const { status } = await send(`${published.url}/healthz`, { localAddress });
    assert.equal(status, 200, `read ${read + 1}`);
  }
  const startMs = performance.now();
  let more = 0;
  while ((await send(`${published.url}/healthz`, { localAddress })).status === 200) more += 1;
  // What came back while they were asked for, the first 400 included, and no more.
  assert.ok(more <= perMinute, `${more} more in ${performance.now() - startMs} ms`);
});

test("behind a trusted proxy the budget is that of the client it names", async () => {
  const read = async (client: string) =>
    (await send(`${proxied.url}/healthz`, { headers: { "X-Forwarded-For": client } })).status;
  assert.deepEqual(
    [await read("192.0.2.1"), await read("192.0.2.1"), await read("192.0.2.2")],
    [200, 429, 200],
  );
});
