import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { describe, test } from "node:test";
import { type App, get, post, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const files = selfSigned(temporaryFolder(), "drain");

function begun(app: App): Promise<unknown> {
  return app.next((event): event is typeof event => event.event === "began");
}

// Who is waited for asks within it on a busy machine too.
const patient = { lingerTimeoutMs: 20_000 };

for (const tls of [false, true]) {
  describe(tls ? "with TLS" : "without TLS", () => {
    const start = (bounds = {}) => startApp("node", { ...(tls ? { tls: files } : {}), bounds });

    test("a client that was answered just now, and one that has just come, are answered once more and told to go", async () => {
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

    test("a request that was not read yet when the listener closes is answered, however little time there is", async () => {
      const app = await start({ lingerTimeoutMs: 0 });
      const kept = await Wire.open(app.port, { tls });
      kept.send(get("/name"));
      assert.equal((await kept.answer()).status, 200);
      kept.send(get("/name"));
      const closing = app.close(600_000);
      assert.equal((await kept.answer()).headers["connection"], "close");
      await Promise.all([kept.closed(), closing]);
    });

    test("a request in flight is answered with Connection: close, then close resolves", async () => {
      const app = await start();
      const releasing = await Wire.open(app.port, { tls });
      const held = await Wire.open(app.port, { tls });
      held.send(get("/held"));
      await begun(app);
      // Its head is complete and its body is not, so that it is in flight while the other is released.
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

    test("what is not done within the grace is cut", async () => {
      const app = await start();
      const wire = await Wire.open(app.port, { tls });
      wire.send(get("/never"));
      const upload = await Wire.open(app.port, { tls });
      upload.send("POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 9\r\nX-Request-Id: gone\r\n\r\n");
      await begun(app);
      await app.close(150);
      await Promise.all([wire.closed(), upload.closed()]);
    });
  });
}

test("an HTTP/2 session finishes its streams and takes no further one", async () => {
  const app = await startApp("node", { tls: files });
  const idle = connectHttp2(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
  const busy = connectHttp2(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
  const stream = busy.request({ ":path": "/echo", ":method": "POST", "x-request-id": "gone" });
  await begun(app);
  const goaway = within(new Promise((resolve) => busy.once("goaway", resolve)), "GOAWAY");
  const idleClosed = within(new Promise((resolve) => idle.once("close", resolve)), "end of the idle session");
  const closing = app.close(4_000);
  await Promise.all([goaway, idleClosed]);
  stream.end("abc");
  const [body] = await within(stream.toArray(), "answer");
  assert.equal(String(body), "abc");
  await closing;
});

test("on Deno a client that was answered just now is answered once more and told to go", async () => {
  const app = await startApp("deno", { bounds: patient, graceMs: 20_000 });
  const kept = await Wire.open(app.port);
  kept.send(get("/name"));
  assert.equal((await kept.answer()).status, 200);
  const closing = app.close();
  await app.next((event): event is typeof event => event.event === "closing");
  kept.send(get("/name"));
  assert.equal((await kept.answer()).headers["connection"], "close");
  await Promise.all([kept.closed(), closing]);
});
