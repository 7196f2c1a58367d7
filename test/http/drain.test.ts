import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { describe, test } from "node:test";
import { get, post, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const files = selfSigned(temporaryFolder(), "drain");

// Long enough for a client's next request on a busy machine.
const patient = { lingerTimeoutMs: 20_000 };

for (const tls of [false, true]) {
  describe(tls ? "with TLS" : "without TLS", () => {
    const start = (bounds = {}) => startApp("node", { ...(tls ? { tls: files } : {}), bounds });

    test("recently served and new connections get one more response, with Connection: close", async () => {
      const app = await start(patient);
      const kept = await Wire.open(app.port, { tls });
      kept.send(get("/name"));
      assert.equal((await kept.answer()).headers["connection"], "keep-alive");
      const fresh = await Wire.open(app.port, { tls });
      const closing = app.close(600_000);
      for (const wire of [kept, fresh]) {
        wire.send(get("/name"));
        const { status, headers } = await wire.answer();
        assert.deepEqual([status, headers["connection"]], [200, "close"]);
      }
      await Promise.all([kept.closed(), fresh.closed(), closing]);
    });

    test("a request not yet read when the listener closes gets a response", async () => {
      const app = await start({ lingerTimeoutMs: 0 });
      const kept = await Wire.open(app.port, { tls });
      kept.send(get("/name"));
      assert.equal((await kept.answer()).status, 200);
      kept.send(get("/name"));
      const closing = app.close(600_000);
      assert.equal((await kept.answer()).headers["connection"], "close");
      await Promise.all([kept.closed(), closing]);
    });

    test("a request in flight gets a response with Connection: close before close resolves", async () => {
      const app = await start();
      const releasing = await Wire.open(app.port, { tls });
      const held = await Wire.open(app.port, { tls });
      held.send(get("/held"));
      await app.next("began");
      // Its incomplete body keeps it in flight while the other one is released.
      releasing.send(post("/echo", "").replace("Content-Length: 0", "Content-Length: 3"));
      releasing.send("ab");
      const unread = await Wire.open(app.port, { tls });
      unread.send(post("/release", "").replace("Content-Length: 0", "Content-Length: 1"));
      assert.equal((await unread.answer()).status, 200);
      const closing = app.close(4_000);
      const answer = await held.answer();
      assert.equal(answer.body.toString(), "held");
      releasing.send("c");
      const echo = await releasing.answer();
      assert.equal(echo.body.toString(), "abc");
      assert.equal(echo.headers["connection"], "close");
      unread.send("x");
      await closing;
    });

    test("requests that outlast the grace period are cut off", async () => {
      const app = await start();
      const wire = await Wire.open(app.port, { tls });
      wire.send(get("/never"));
      const upload = await Wire.open(app.port, { tls });
      upload.send("POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 9\r\nX-Request-Id: gone\r\n\r\n");
      await app.next("began");
      await app.close(150);
      await Promise.all([wire.closed(), upload.closed()]);
    });
  });
}

test("an HTTP/2 session finishes its streams and accepts no new ones", async () => {
  const app = await startApp("node", { tls: files });
  const idle = connectHttp2(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
  const busy = connectHttp2(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
  const stream = busy.request({ ":path": "/echo", ":method": "POST", "x-request-id": "gone" });
  await app.next("began");
  const goaway = within(new Promise((resolve) => busy.once("goaway", resolve)), "GOAWAY");
  const idleClosed = within(new Promise((resolve) => idle.once("close", resolve)), "end of the idle session");
  const closing = app.close(4_000);
  await Promise.all([goaway, idleClosed]);
  stream.end("abc");
  const [body] = await within(stream.toArray(), "answer");
  assert.equal(String(body), "abc");
  await closing;
});

test("on Deno a recently served connection gets one more response, with Connection: close", async () => {
  const app = await startApp("deno", { bounds: patient, graceMs: 20_000 });
  const kept = await Wire.open(app.port);
  kept.send(get("/name"));
  assert.equal((await kept.answer()).status, 200);
  const closing = app.close();
  await app.next("closing");
  kept.send(get("/name"));
  assert.equal((await kept.answer()).headers["connection"], "close");
  await Promise.all([kept.closed(), closing]);
});
