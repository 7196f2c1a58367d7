import assert from "node:assert/strict";
import { test } from "node:test";
import { spamModelPath } from "../../src/contract/forms.ts";
import { model } from "../../src/forms/spam/weights.ts";
import { type RequestOptions, send } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const limited = await testEnv.start({ PUBLIC_IP_PER_MINUTE: "1", PUBLIC_IP_BURST: "1" });
const key = await testEnv.issue({ surface: "forms", sandbox: true });
const revoked = await testEnv.issue({ surface: "forms", sandbox: true });
await ctl(["key", "revoke", String(revoked.id)], { databaseUrl: testEnv.database.url });

const ask = (options: RequestOptions = {}, { urls } = server) =>
  send(`${urls.forms}${spamModelPath}`, options);

test("a sandbox's key gets the weights, which no cache may store and no other website may read", async () => {
  const answer = await ask({ key: key.text, headers: { Origin: "https://elsewhere.example" } });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, model);
  assert.equal(answer.headers["cache-control"], "no-store");
  assert.equal(answer.headers["access-control-allow-origin"], undefined);
  const head = await ask({ method: "HEAD", key: key.text });
  assert.deepEqual([head.status, head.text], [200, ""]);
});

const others: Readonly<Record<string, string | undefined>> = {
  "no key": undefined,
  "a live key": (await testEnv.issue({ surface: "forms" })).text,
  "a sandbox's intake key": (await testEnv.issue({ sandbox: true })).text,
  "a mistyped key": `${key.text.slice(0, -1)}~`,
  "a revoked key": revoked.text,
};
for (const [what, text] of Object.entries(others)) {
  test(`${what} gets 401 without the weights`, async () => {
    const answer = await ask(text === undefined ? {} : { key: text });
    assert.equal(answer.status, 401);
    const { detail, ...body } = answer.json;
    assert.deepEqual(body, { error: "unauthorized", request_id: answer.headers["x-request-id"] });
    assert.equal(detail?.includes("sandbox"), what === "a live key" ? true : detail && false);
    assert.equal(answer.headers["cache-control"], "no-store");
  });
}

test("a key in the URL gets 401, and another method 405", async () => {
  const answer = await send(`${server.urls.forms}${spamModelPath}?key=${revoked.text}`);
  assert.deepEqual([answer.status, answer.json.error], [401, "unauthorized"]);
  const posted = await ask({ method: "POST", key: key.text, body: {} });
  assert.deepEqual([posted.status, posted.headers.allow], [405, "GET, HEAD"]);
});

test("the limit of public reads applies", async () => {
  const options = { key: key.text, localAddress: "127.4.4.5" };
  assert.equal((await ask(options, limited)).status, 200);
  const refused = await ask(options, limited);
  assert.deepEqual([refused.status, refused.json.error], [429, "rate_limited"]);
});
