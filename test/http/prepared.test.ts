import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Exchange } from "../../src/http/exchange.ts";
import { Prepared, versionOf } from "../../src/http/prepared.ts";

const headers = { all: { "Cache-Control": "no-cache" }, content: { "Content-Type": "text/plain" } };
const request = (sent: Readonly<Record<string, string>> = {}) =>
  ({ header: (name: string) => sent[name] }) as unknown as Exchange;

test("a reply is made once: who asks again gets the same object with the same bytes", () => {
  const replies = new Prepared("é".repeat(9_000)).replies(headers);
  for (const sent of [{}, { "accept-encoding": "gzip" }]) {
    assert.equal(replies.to(request(sent)), replies.to(request(sent)));
  }
  const { body } = replies.to(request());
  assert.ok(body instanceof Uint8Array, "shared bytes, not a text that is copied for each");
  assert.equal(new TextDecoder().decode(body), "é".repeat(9_000));
});

test("a long text of ASCII alone is shared bytes too; a short one goes out in one piece with its headers", () => {
  assert.equal(typeof new Prepared("a".repeat(4_096)).replies(headers).to(request()).body, "string");
  assert.ok(new Prepared("a".repeat(4_097)).replies(headers).to(request()).body instanceof Uint8Array);
});

test("packed for who accepts gzip, under a tag of its own; 304 to either tag where it belongs", () => {
  const replies = new Prepared("hello").replies(headers);
  const plain = replies.to(request());
  const packed = replies.to(request({ "accept-encoding": "gzip" }));
  assert.equal(gunzipSync(packed.body as Uint8Array).toString(), "hello");
  assert.equal(packed.headers["Content-Encoding"], "gzip");
  assert.equal(plain.headers.ETag, `"${versionOf("hello")}"`);
  assert.notEqual(packed.headers.ETag, plain.headers.ETag);
  const known = replies.to(request({ "if-none-match": plain.headers.ETag as string }));
  assert.deepEqual([known.status, known.body], [304, null]);
  assert.equal(known.headers["Content-Type"], undefined);
  const other = request({ "accept-encoding": "gzip", "if-none-match": plain.headers.ETag as string });
  assert.equal(replies.to(other).status, 200);
});
