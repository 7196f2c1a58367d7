import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { after, describe, test } from "node:test";
import { every } from "../support/every.ts";
import { ask, get, parse, places, post, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

for (const place of places) {
  describe(`on ${place}`, async () => {
    // On a busy machine 0.4 s pass before a connection's first byte is read.
    const bounds = { headersTimeoutMs: 2_000, idleTimeoutMs: 200, sweepIntervalMs: 20 };
    const files = selfSigned(temporaryFolder(), "bounds");
    const app = await startApp(place, { bounds });
    const secure = await startApp(place, { bounds, tls: files });
    after(() => Promise.all([app.close(), secure.close()]));

    test("headers that do not arrive in time get 408 with a request id, and the connection closes", async (t) => {
      for (const { port, tls } of [{ port: app.port, tls: false }, { port: secure.port, tls: true }]) {
        const wire = await Wire.open(port, { tls });
        wire.send("GET /name HTTP/1.1\r\nHost: one.test\r\nX-A: ");
        const stop = every(t, 20, () => wire.socket.writable && wire.send("a"));
        const answer = await wire.answer();
        stop();
        assert.equal(answer.status, 408);
        assert.deepEqual(parse(answer), { refused: 408, request_id: answer.headers["x-request-id"] });
        await wire.closed();
      }
      assert.equal((await app.access()).status, 408);
      assert.equal((await secure.access()).status, 408);
    });

    test("a silent connection is closed without a response or a log line", async () => {
      for (const { port, tls } of [{ port: app.port, tls: false }, { port: secure.port, tls: true }]) {
        const wire = await Wire.open(port, { tls });
        assert.equal((await wire.closed()).byteLength, 0);
      }
      assert.deepEqual(app.events, []);
      assert.deepEqual(secure.events.filter(({ event }) => event !== "certificate_in_use"), []);
    });

    test("an idle keep-alive connection is closed", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/name"));
      assert.equal((await wire.answer()).headers["connection"], "keep-alive");
      assert.equal((await wire.closed()).byteLength, 0);
    });

    test("an unfinished TLS handshake is cut off", async () => {
      const hasty = await startApp(place, { bounds: { ...bounds, handshakeTimeoutMs: 100 }, tls: files });
      const wire = await Wire.open(hasty.port);
      wire.send("\x16\x03\x01");
      await wire.closed();
      await hasty.close();
    });

    test("an idle HTTP/2 session is closed, at its start and later", async () => {
      for (const isUsed of [false, true]) {
        const session = connectHttp2(`https://127.0.0.1:${secure.port}`, { rejectUnauthorized: false });
        session.on("error", () => {});
        if (isUsed) {
          const stream = session.request({ ":path": "/name" });
          stream.resume();
          await within(new Promise((resolve) => stream.once("close", resolve)), "answer");
        }
        await within(new Promise((resolve) => session.once("close", resolve)), "end of the session");
      }
    });

    test("an HTTP/2 body that does not arrive in time resets its stream", async () => {
      const hasty = await startApp(place, { bounds: { requestTimeoutMs: 100 }, tls: files });
      const session = connectHttp2(`https://127.0.0.1:${hasty.port}`, { rejectUnauthorized: false });
      const stream = session.request({ ":path": "/echo", ":method": "POST" });
      stream.on("error", () => {});
      stream.write("half");
      await within(new Promise((resolve) => stream.once("close", resolve)), "reset");
      assert.equal(stream.rstCode, 8);
      assert.equal((await hasty.access()).aborted, true);
      session.close();
      await hasty.close();
    });

    test("an HTTP/2 client that reads nothing of its response loses the stream and the idle session", async () => {
      const hasty = await startApp(place, {
        bounds: { ...bounds, requestTimeoutMs: 100, discardTimeoutMs: 100 },
        tls: files,
      });
      const options = { rejectUnauthorized: false, settings: { initialWindowSize: 0 } };
      const session = connectHttp2(`https://127.0.0.1:${hasty.port}`, options);
      session.on("error", () => {});
      const stream = session.request({ ":path": "/name" });
      stream.on("error", () => {});
      await within(new Promise((resolve) => stream.once("close", resolve)), "reset");
      assert.equal(stream.rstCode, 8);
      assert.equal((await hasty.access()).aborted, true);
      await within(new Promise((resolve) => session.once("close", resolve)), "end of the session");
      await hasty.close();
    });

    test("an HTTP/1 client that reads nothing of its responses loses the connection", async () => {
      const hasty = await startApp(place, {
        // Each request arrives in time; only the responses are not read.
        bounds: {
          ...bounds,
          headersTimeoutMs: 20_000,
          requestTimeoutMs: 200,
          idleTimeoutMs: 20_000,
          pipelinedMax: 100,
        },
      });
      const wire = await Wire.open(hasty.port);
      wire.socket.pause();
      const closed = new Promise((resolve) => wire.socket.once("close", resolve));
      wire.socket.on("error", () => {});
      const requests = get("/files/" + "x".repeat(3_000)).repeat(10_000);
      wire.send(requests);
      await hasty.access(({ aborted }) => aborted);
      wire.socket.resume();
      await within(closed, "end of the connection");
      await hasty.close();
    });

    test("late bytes of a timed-out client are not part of another request", async () => {
      for (const { port, tls } of [{ port: app.port, tls: false }, { port: secure.port, tls: true }]) {
        const slow = await Wire.open(port, { tls, sendsOn: true });
        slow.send("GET /name HTTP/1.1\r\nHost: one.test\r\n");
        assert.equal((await slow.answer()).status, 408);
        const others: Wire[] = [];
        // One after the other, because 20 handshakes at once may outlast the timeout for headers.
        while (others.length < 20) {
          const other = await Wire.open(port, { tls });
          other.send(post("/echo", "abcdef").slice(0, -3));
          others.push(other);
        }
        // A response here means that the earlier bytes were read.
        const bytesRead = async () => assert.equal((await ask(app.port, get("/name"))).status, 200);
        await bytesRead();
        for (const byte of "xyz") {
          slow.send(byte);
          await bytesRead();
        }
        slow.socket.end();
        await bytesRead();
        for (const other of others) {
          other.send("def");
          const { status, body } = await other.answer();
          assert.deepEqual({ status, body: body.toString() }, { status: 202, body: "abcdef" });
          other.socket.destroy();
        }
      }
    });
  });
}
