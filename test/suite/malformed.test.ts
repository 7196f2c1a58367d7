import assert from "node:assert/strict";
import { test } from "node:test";
import { exchangeRaw } from "../support/http/raw_connection.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const key = await testEnv.issue();
const body = JSON.stringify(lead());
const rest = `X-API-Key: ${key.text}\r\nContent-Length: ${body.length}\r\n`;

const post = "POST /v1/intake HTTP/1.1\r\n";
const requests: Readonly<Record<string, { readonly status: number; readonly bytes: string }>> = {
  "a malformed request line": { status: 400, bytes: `POST\r\nHost: h\r\n${rest}\r\n${body}` },
  "no Host": { status: 400, bytes: `${post}${rest}\r\n${body}` },
  "gzip before chunked": {
    status: 501,
    bytes: `${post}Host: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  },
  "headers over the maximum": {
    status: 431,
    bytes: `${post}Host: h\r\nCookie: ${"c".repeat(100_000)}\r\n${rest}\r\n${body}`,
  },
};

for (const [what, { status, bytes }] of Object.entries(requests)) {
  test(`malformed HTTP (${what}) stores nothing; the refusal is ${status} as JSON with its X-Request-Id`, async () => {
    await testEnv.leavesNothing(async () => {
      const answer = await exchangeRaw(server.url, bytes);
      assert.equal(answer.status, status);
      const json = JSON.parse(answer.body);
      assert.equal(json.request_id, answer.headers["x-request-id"]);
      assert.equal(typeof json.error, "string");
      assert.equal(typeof json.detail, status === 400 ? "string" : "undefined");
    });
    assert.equal((await testEnv.send("/healthz")).status, 200);
  });
}

test("HTTP/1.0 does not need a Host", async () => {
  const answer = await exchangeRaw(server.url, `POST /v1/intake HTTP/1.0\r\n${rest}\r\n${body}`);
  assert.equal(answer.status, 202);
});
