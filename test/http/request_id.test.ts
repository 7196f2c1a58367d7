import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect } from "node:http2";
import { after, describe, test } from "node:test";
import { adoptRequestId, createRequestIds } from "#src/http/request_id.ts";
import { ask, get, parse, places, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const rule = { lengthMax: 64, refused: /secret_[a-z]{8}/ };
const adopt = (sent: string) => adoptRequestId(sent, rule);
const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

test("an id of up to 64 characters is adopted as it is", () => {
  for (const id of ["a", 'acme: lead #1, "quoted" {x}', "a".repeat(64)]) assert.equal(adopt(id), id);
  assert.equal(adopt("a".repeat(65)), null);
  assert.equal(adopt(""), null);
});

test("characters are code points where the bytes are UTF-8, and bytes where they are not", () => {
  for (const id of ["é".repeat(64), "😀".repeat(64), "日本語"]) assert.equal(adopt(bytesOf(id)), id);
  for (const id of ["é".repeat(65), "😀".repeat(65)]) assert.equal(adopt(bytesOf(id)), null);
  assert.equal(adopt("\xe9".repeat(64)), "\xe9".repeat(64));
  assert.equal(adopt("\xe9".repeat(65)), null);
});

test("an id with a control character is not adopted", () => {
  for (const id of ["a\tb", "a\x00", "\x7f", "é\x01", "\u0085", "a\u009f"]) {
    assert.equal(adopt(bytesOf(id)), null);
  }
  // No UTF-8, and a control character of Latin-1, which a terminal obeys all the same.
  for (const id of ["a\x85", "\x9b31m", "caf\xe9\x80"]) assert.equal(adopt(id), null);
});

test("an id that holds what looks like a secret is not adopted", () => {
  assert.equal(adopt("x secret_abcdefgh y"), null);
  assert.equal(adopt(bytesOf("é secret_abcdefgh")), null);
  assert.equal(adopt("secret_ABC"), "secret_ABC");
});

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place);
    after(() => app.close());

    test("the id goes back in the header, to the handler and into the access log", async () => {
      const answer = await ask(app.port, get("/seen?secret=1", "X-Request-Id: acme 7"));
      assert.equal(answer.headers["x-request-id"], "acme 7");
      assert.equal(parse(answer)["requestId"], "acme 7");
      const access = await app.access();
      assert.equal(access.requestId, "acme 7");
      assert.equal(access.keyId, "key-1");
      assert.ok(!JSON.stringify(access).includes("secret"));
    });

    test("bytes above 0x7F go back as they came, beside a body of text", async () => {
      for (const id of [bytesOf("é😀"), "caf\xe9"]) {
        const answer = await ask(app.port, get("/latin1", `X-Request-Id: ${id}`));
        assert.equal(answer.headers["x-request-id"], id);
        assert.equal(answer.headers["x-name"], "\xe9");
        assert.equal(answer.body.toString(), "é");
      }
      const answer = await ask(app.port, get("/seen", `X-Request-Id: ${bytesOf("é😀")}`));
      assert.equal(parse(answer)["requestId"], "é😀");
    });

    test("an id that is not adopted is replaced", async () => {
      for (const id of ["a".repeat(65), "secret_abcdefgh", "", "a\tb"]) {
        const answer = await ask(app.port, get("/seen", `X-Request-Id: ${id}`));
        assert.match(answer.headers["x-request-id"] ?? "", /^made-\d+$/);
        assert.equal(parse(answer)["requestId"], answer.headers["x-request-id"]);
      }
    });

    test("of two X-Request-Id headers the first is taken", async () => {
      const answer = await ask(app.port, get("/seen", "X-Request-Id: first", "x-request-id: second"));
      assert.equal(answer.headers["x-request-id"], "first");
    });

    test("every kind of answer carries it", async () => {
      const requests = ["/nothing", "/throw", "/bad-header", "/empty", "/echo", "/stream?1"];
      for (const target of requests) {
        const answer = await ask(app.port, get(target, "X-Request-Id: mine"));
        assert.equal(answer.headers["x-request-id"], "mine", target);
      }
    });
  });
}

test("every refusal carries it, over HTTP/1.1 and HTTP/2", async (t) => {
  const tls = selfSigned(temporaryFolder(), "refusals");
  for (const place of places) {
    const app = await startApp(place, { tls, hosts: ["one.test"], bodyBytesMax: 10 });
    const http2 = connect(`https://127.0.0.1:${app.port}`, {
      rejectUnauthorized: false,
      maxSendHeaderBlockLength: 99_999,
    });
    t.after(() => app.close());
    t.after(() => http2.destroy());
    for (
      const [expected, method, path, lines] of [
        [400, "GET", "/name", { host: "two.test" }],
        [404, "GET", "/nothing", {}],
        [405, "PUT", "/name", {}],
        [413, "POST", "/echo", { "content-length": "11" }],
        [417, "POST", "/echo", { expect: "tea" }],
        [421, "GET", "/name", { ":authority": "three.test" }],
        [431, "GET", "/name", { "x-a": "a".repeat(17_000) }],
        [503, "GET", "/throw", {}],
      ] as const
    ) {
      const headers = { ":authority": "one.test", ...lines, "x-request-id": "mine" };
      const stream = http2.request({ ":method": method, ":path": path, ...headers });
      stream.on("error", () => {});
      if (method === "POST") stream.end("x".repeat(11));
      const answer = await within(
        new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve)),
        `answer of ${expected}`,
      );
      stream.resume();
      assert.deepEqual([answer[":status"], answer["x-request-id"]], [expected, "mine"]);

      const wire = await Wire.open(app.port, { tls: true });
      const { ":authority": host, ...others } = headers;
      const sent = Object.entries(others).map(([name, value]) => `${name}: ${value}`);
      wire.send([`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...sent, "", ""].join("\r\n"));
      const first = await wire.answer();
      assert.equal(first.status, expected);
      // What the parser gave up on has no id that could be believed.
      assert.match(first.headers["x-request-id"] as string, expected === 431 ? /^made-/ : /^mine$/);
      wire.socket.destroy();
    }
  }
});

test("generated request ids are 24 hex digits, and no two of 1,000 are alike", () => {
  let draws = 0;
  const generate = createRequestIds((bytes) => {
    draws += 1;
    crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
  });
  const ids = new Set(Array.from({ length: 1_000 }, generate));
  assert.equal(ids.size, 1_000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{24}$/);
  assert.equal(draws, 4);
});
