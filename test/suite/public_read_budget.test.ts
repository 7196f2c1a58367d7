import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { freshAddress, send } from "../support/client.ts";
import { lead, publishedLimits, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start({
  ...publishedLimits,
  PUBLIC_IP_PER_MINUTE: "1",
  PUBLIC_IP_BURST: "10",
});
const published = await testEnv.start(publishedLimits);
const proxied = await testEnv.start({
  PUBLIC_IP_PER_MINUTE: "1",
  PUBLIC_IP_BURST: "1",
  TRUSTED_PROXIES: "127.0.0.0/8",
});
const key = await testEnv.issue();

/** Every public read, and unknown paths, which share the budget. */
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

/** A page for people, without CORS. */
const isPage = (path: string) => path.startsWith("/buy/");

const get = (surface: string, path: string, localAddress: string, method = "GET") =>
  send(`${server.urls[surface]}${path}`, { method, localAddress });

test("the public reads of an address share one budget, and above it each answers 429 with Retry-After", async () => {
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

test("an address without read budget can still post a lead", async () => {
  const localAddress = freshAddress();
  while ((await get("intake", "/healthz", localAddress)).status !== 429);
  const accepted = await testEnv.intake({ key: key.text, body: lead(), localAddress }, server);
  assert.equal(accepted.status, 202);
  const { form, key: formKey } = await testEnv.formWithKey();
  const body = { name: "Grace", email: "grace@example.com" };
  assert.equal((await testEnv.submit(form, { key: formKey.text, body, localAddress }, server)).status, 202);
  assert.equal((await get("intake", "/healthz", localAddress)).status, 429, "and its posts earned it none");
});

test("an address has the published burst of 400 reads", async () => {
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
  // Only the reads that were earned back meanwhile.
  assert.ok(more <= perMinute, `${more} more in ${performance.now() - startMs} ms`);
});

test("behind a trusted proxy each client has its own budget", async () => {
  const read = async (client: string) =>
    (await send(`${proxied.url}/healthz`, { headers: { "X-Forwarded-For": client } })).status;
  assert.deepEqual(
    [await read("192.0.2.1"), await read("192.0.2.1"), await read("192.0.2.2")],
    [200, 429, 200],
  );
});
