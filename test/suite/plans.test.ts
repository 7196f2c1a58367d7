import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, type RequestOptions } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { ctl, type RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

const own = await ownPostgres();
const testEnv = await TestEnv.open(own.url);
const folder = temporaryFolder("plans");
testEnv.expectLogged("totals_kept");
const first = await testEnv.start();
const second = await testEnv.start();
const on = { databaseUrl: testEnv.database.url };

async function ask(
  path: string,
  options: RequestOptions = {},
  server: RunningServer = first,
): Promise<Answer> {
  return await testEnv.sendToPlans(path, options, server);
}

async function put(text: string): Promise<void> {
  const file = join(folder, "plans.json");
  writeFileSync(file, text);
  await ctl(["plan", "put", file], on);
}

const basic = '{"slug":"basic","name":"Básico","customer":"acme","amount_cents":2900,"interval":"month",' +
  '"items":[{"title":"Leads","detail":"100","icon":"\\u2713"}],"tax":1.10,"sku":12345678901234567890,' +
  '"__proto__":{"nul":"\\u0000"}}';
const yearly =
  '{"interval":"year","slug":"yearly","name":"Yearly","customer":"acme","amount_cents":29000,"items":[]}';

test("GET /api/plans answers [] while there is no plan, cacheable for 300 s, to any origin", async () => {
  const { status, headers, text } = await ask("/api/plans");
  assert.deepEqual([status, text], [200, "[]"]);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["cache-control"], "public, max-age=300");
  assert.equal(headers["access-control-allow-origin"], "*");
  assert.match(String(headers.etag), /^"[\w-]{22}"$/);
});

test("once a plan exists, no node answers []", async () => {
  const { sql } = testEnv;
  for (let round = 0; round < 5; round++) {
    await sql`delete from plan`;
    for (const server of [first, second]) {
      await until(async () => (await ask("/api/plans", {}, server)).text === "[]");
    }
    await sql`
      select put_plans('{basic}', '{Basic}', '{acme}', '{2900}', '{month}', ${[basic]})`;
    for (const server of [first, second]) {
      assert.equal((await ask("/api/plans", {}, server)).text, `[${basic}]`);
    }
  }
  await sql`delete from plan`;
  for (const server of [first, second]) {
    await until(async () => (await ask("/api/plans", {}, server)).text === "[]");
  }
});

test("a plan put by ctl is served by every node within 5 s, as written, in one order and with one ETag", async () => {
  await put(`[${yearly},\n ${basic.replaceAll(",", ", ")}]`);
  for (const server of [first, second]) {
    await until(async () => (await ask("/api/plans", {}, server)).text === `[${basic},${yearly}]`);
  }
  const [one, other] = await Promise.all([first, second].map((server) => ask("/api/plans", {}, server)));
  assert.equal(one?.headers.etag, other?.headers.etag);
  assert.equal(one?.headers["content-length"], String(Buffer.byteLength(`[${basic},${yearly}]`)));
});

test("If-None-Match answers 304 without a body for the tag, alone, in a list, weak, or *; 200 for any other", async () => {
  const { headers } = await ask("/api/plans");
  const tag = String(headers.etag);
  for (
    const [sent, status] of [
      [tag, 304],
      [`W/${tag}`, 304],
      [`"other", ${tag}`, 304],
      [`"a,b",W/${tag} , "c"`, 304],
      ["*", 304],
      [" * ", 304],
      ['"other"', 200],
      [tag.slice(1, -1), 200],
      [`"${tag}"`, 200],
      ['"*"', 200],
      ["", 200],
    ] as const
  ) {
    for (const method of ["GET", "HEAD"]) {
      const answer = await ask("/api/plans", { method, headers: { "If-None-Match": sent } });
      assert.equal(answer.status, status, `${method} ${sent}`);
      if (status === 200) continue;
      assert.equal(answer.text, "");
      for (const name of ["etag", "cache-control", "vary", "access-control-allow-origin"]) {
        assert.equal(answer.headers[name], headers[name], name);
      }
      assert.equal(answer.headers["content-type"], undefined);
    }
  }
});

test("other methods answer 405 with Allow; the catalog and every other path 404", async () => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const answer = await ask("/api/plans", { method });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, "GET, HEAD");
    assert.equal(answer.json.error, "method_not_allowed");
  }
  for (
    const path of ["/api/catalog", "/api/plans/", "/api/plans/basic", "/api", "/", "/v1/intake", "/healthz"]
  ) {
    for (const method of ["GET", "POST", "HEAD"]) {
      assert.equal((await ask(path, { method })).status, 404, `${method} ${path}`);
    }
  }
});

test("without the store the feed answers 503, never [], and recovers", async () => {
  const { headers, text } = await ask("/api/plans");
  own.freeze();
  const away = await until(async () => {
    const answer = await ask("/api/plans", { headers: { "If-None-Match": String(headers.etag) } });
    if (answer.status === 503) return answer;
    assert.equal(answer.status, 304, "until the store is known to be away, the last snapshot");
    return null;
  });
  assert.equal(away.json.error, "not_accepting");
  assert.equal(away.headers["access-control-allow-origin"], "*");
  assert.equal(away.headers.etag, undefined);
  own.thaw();
  const back = await until(async () => {
    const answer = await ask("/api/plans");
    return answer.status === 200 ? answer : null;
  });
  assert.equal(back.text, text);
  assert.equal(back.headers.etag, headers.etag);
});
