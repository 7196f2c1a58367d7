import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { parseTarget } from "#src/http/target.ts";
import { ask, get, parse, places, post, startApp, Wire } from "../support/http/echo.ts";

test("a request target is split without changing its parts", () => {
  const parts = (target: string) => {
    const { path, query, authority } = parseTarget(target);
    return [path, query, authority];
  };
  assert.deepEqual(parts("/v1/intake"), ["/v1/intake", "", null]);
  assert.deepEqual(parts("/a?b?c#d"), ["/a", "b?c#d", null]);
  assert.deepEqual(parts("//host/a"), ["//host/a", "", null]);
  assert.deepEqual(parts("http://host:1/a?b"), ["/a", "b", "host:1"]);
  assert.deepEqual(parts("HTTPS://host?b"), ["/", "b", "host"]);
  assert.deepEqual(parts("http://host"), ["/", "", "host"]);
  assert.deepEqual(parts("http://user@host/"), ["/", "", "user@host"]);
  assert.deepEqual(parts("*"), ["*", "", null]);
  assert.deepEqual(parts("host:443"), ["host:443", "", null]);
  assert.deepEqual(parts("ftp://host/a"), ["ftp://host/a", "", null]);
});

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place);
    after(() => app.close());

    test("targets that are not a route get 404 and are neither decoded nor normalized", async () => {
      for (const target of ["//name", "/name/", "/./name", "/x/../name", "/%6eame", "/name%00", "/NAME"]) {
        assert.equal((await ask(app.port, get(target))).status, 404, target);
      }
      assert.equal((await ask(app.port, get("*").replace("GET", "OPTIONS"))).status, 404);
    });

    test("an exception of a handler gets the surface's response and is reported once", async () => {
      for (const target of ["/throw", "/bad-header"]) {
        const answer = await ask(app.port, get(target, "X-Request-Id: faulty"));
        assert.equal(answer.status, 503);
        assert.deepEqual(parse(answer), { fault: true, request_id: "faulty" });
        await app.next("fault");
        await app.access(({ status }) => status === 503);
      }
      assert.equal(app.events.filter(({ event }) => event === "fault").length, 0);
    });

    test("a handler that times out gets the surface's response", async () => {
      const hasty = await startApp(place, { bounds: { requestTimeoutMs: 150 } });
      const answer = await ask(hasty.port, get("/never"));
      assert.equal(answer.status, 503);
      assert.equal(parse(answer)["fault"], true);
      await hasty.next("fault");
      await hasty.close();
    });

    test("a stream is cancelled when the client disconnects", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/stream?100000"));
      wire.socket.once("data", () => wire.socket.destroy());
      await app.next("cancelled");
      assert.equal((await app.access(({ aborted }) => aborted)).route, "/stream");
    });

    test("pipelined requests get their responses in order", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/seen?1"), post("/echo", "two"), get("/seen?3"));
      assert.equal(parse(await wire.answer())["query"], "1");
      assert.equal((await wire.answer()).body.toString(), "two");
      assert.equal(parse(await wire.answer())["query"], "3");
      wire.socket.destroy();
    });
  });
}

for (const place of places) {
  describe(`malformed and slow requests on ${place}`, async () => {
    const app = await startApp(place, { bounds: { headerBytesMax: 4096 } });
    after(() => app.close());

    const malformed: Record<string, string> = {
      "a TLS record": "\x16\x03\x01\x02\x00\x01\x00",
      "an unknown method": "FOO / HTTP/1.1\r\nHost: a\r\n\r\n",
      "HTTP/2 by prior knowledge": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "a header without a colon": "GET / HTTP/1.1\r\nHost: a\r\nX-A\r\n\r\n",
      "an unknown version": "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
      "a space in a header name": "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
      "a control character in a header": "GET / HTTP/1.1\r\nHost: a\r\nX-A: \x01\r\n\r\n",
      "Content-Length with Transfer-Encoding":
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "a negative length": "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
      "a malformed chunk": "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "CONNECT": "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    for (const [what, request] of Object.entries(malformed)) {
      test(`${what} gets 400 as JSON with a request id, and the connection closes`, async () => {
        const wire = await Wire.open(app.port);
        wire.send(request);
        const answer = await wire.answer();
        assert.equal(answer.status, 400);
        assert.equal(answer.headers["content-type"], "application/json");
        assert.equal(answer.headers["connection"], "close");
        const requestId = answer.headers["x-request-id"] as string;
        assert.deepEqual(parse(answer), { refused: 400, request_id: requestId });
        await wire.closed();
        assert.equal((await app.access((access) => access.requestId === requestId)).status, 400);
      });
    }

    test("an upgrade request is served as a normal request", async () => {
      const answer = await ask(app.port, get("/name", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"));
      assert.equal(answer.body.toString(), "one");
    });

    test("headers over the maximum get 431 with a request id while more is being sent", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/name", `X-A: ${"a".repeat(200_000)}`));
      const answer = await wire.answer();
      assert.equal(answer.status, 431);
      assert.deepEqual(parse(answer), { refused: 431, request_id: answer.headers["x-request-id"] });
      assert.equal((await app.access(({ status }) => status === 431)).method, "-");
      wire.socket.destroy();
    });

    for (const next of ["GARBAGE", "CONNECT a:443 HTTP/1.1\r\nHost: a"]) {
      test(`${next.split(" ")[0]} after a request does not affect its response, which closes the connection`, async () => {
        const wire = await Wire.open(app.port);
        wire.send(get("/held"), `${next}\r\n\r\n`);
        await app.next("began");
        await ask(app.port, post("/release", ""));
        const answer = await wire.answer();
        assert.equal(answer.body.toString(), "held");
        assert.equal(answer.headers["connection"], "close");
        await wire.closed();
      });
    }

    test("a client that disconnects with pipelined requests leaves nothing behind", async () => {
      const hasty = await startApp(place, { bounds: { requestTimeoutMs: 150 } });
      const wire = await Wire.open(hasty.port);
      wire.send(get("/never", "X-Request-Id: gone"), get("/seen", "X-Request-Id: second"));
      await hasty.next("began");
      wire.socket.resetAndDestroy();
      assert.equal((await hasty.access()).requestId, "gone");
      // The hanging handler is still reported.
      await hasty.next("fault");
      await hasty.close(4_000);
    });

    test("a stream is cancelled if its reader is too slow", async () => {
      const hasty = await startApp(place, { bounds: { stallTimeoutMs: 150, requestTimeoutMs: 100 } });
      const wire = await Wire.open(hasty.port);
      wire.send(get("/stream?100000"));
      wire.socket.once("data", () => wire.socket.pause());
      await hasty.next("cancelled");
      assert.equal((await hasty.access()).aborted, true);
      wire.socket.destroy();
      await hasty.close();
    });

    test("a stream whose source hangs is cut off", async () => {
      const hasty = await startApp(place, { bounds: { stallTimeoutMs: 100 } });
      const wire = await Wire.open(hasty.port);
      wire.send(get("/stream?hanging"));
      await wire.closed();
      await hasty.next("cancelled");
      await hasty.close();
    });
  });
}
