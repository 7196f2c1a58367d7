import assert from "node:assert/strict";
import { after, test } from "node:test";
import { suiteRuntime } from "../support/server.ts";
import { exchangeRaw } from "./raw_connection.ts";
import { lead, World } from "./world.ts";

const world = await World.open();
after(() => world.close());
const server = await world.start();
const key = await world.issue();
const body = JSON.stringify(lead());
const rest = `X-API-Key: ${key.text}\r\nContent-Length: ${body.length}\r\n`;

const requests: Readonly<Record<string, { readonly status: number; readonly bytes: string }>> = {
  "a request line that is none": { status: 400, bytes: `POST\r\nHost: h\r\n${rest}\r\n${body}` },
  "a header without a colon": {
    status: 400,
    bytes: `POST /v1/intake HTTP/1.1\r\nHost: h\r\nX-API-Key\r\n${rest}\r\n${body}`,
  },
  "two lengths that differ": {
    status: 400,
    bytes: `POST /v1/intake HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n${rest}\r\n${body}`,
  },
  "a length and chunks": {
    status: 400,
    bytes: `POST /v1/intake HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${rest}\r\n0\r\n\r\n`,
  },
  "a Host with a space": {
    status: 400,
    bytes: `POST /v1/intake HTTP/1.1\r\nHost: a b\r\n${rest}\r\n${body}`,
  },
  "headers too large": {
    status: 431,
    bytes: `POST /v1/intake HTTP/1.1\r\nHost: h\r\nCookie: ${"c".repeat(100_000)}\r\n${rest}\r\n${body}`,
  },
};

for (const [what, { status, bytes }] of Object.entries(requests)) {
  // Deno.serve answers some of this by itself, without an id, or reads it as the edge before it would have sent it.
  test(`malformed HTTP (${what}) stores nothing; the refusal is ${status} with X-Request-Id where we answer`, async () => {
    await world.leavesNothing(async () => {
      const answer = await exchangeRaw(server.url, bytes).catch(() => null);
      if (suiteRuntime === "node") assert.equal(answer?.status, status);
      if (answer === null) return;
      assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status));
      const [requestId] = answer.headers.get("x-request-id") ?? [];
      if (suiteRuntime === "node") assert.ok(requestId, "X-Request-Id");
      if (requestId === undefined) return;
      const json = JSON.parse(answer.body);
      assert.equal(json.request_id ?? requestId, requestId);
      assert.equal(typeof json.error, "string");
    });
    assert.equal((await world.send("/healthz")).status, 200);
  });
}

test("HTTP/1.1 without a Host is 400; Deno.serve does not tell the version, so there it is read as HTTP/1.0", async () => {
  const answer = await exchangeRaw(server.url, `POST /v1/intake HTTP/1.1\r\n${rest}\r\n${body}`);
  assert.equal(answer.status, suiteRuntime === "node" ? 400 : 202);
  const old = await exchangeRaw(server.url, `POST /v1/intake HTTP/1.0\r\n${rest}\r\n${body}`);
  assert.equal(old.status, suiteRuntime === "node" ? 202 : 200);
});
