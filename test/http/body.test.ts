import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, describe, test } from "node:test";
import { every } from "../support/every.ts";
import { get, places, post, startApp, Wire } from "../support/http/echo.ts";

const cap = 1024;

/** One chunk of a chunked body. */
function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function chunkedHead(target: string, ...lines: string[]): string {
  return [`POST ${target} HTTP/1.1`, "Host: one.test", "Transfer-Encoding: chunked", ...lines, "", ""].join(
    "\r\n",
  );
}

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { bodyBytesMax: cap });
    after(() => app.close());
    const talk = async (run: (wire: Wire) => Promise<void>) => {
      const wire = await Wire.open(app.port);
      await run(wire);
      wire.socket.destroy();
    };

    test("a client that first sends megabytes can read the 413", () =>
      talk(async (wire) => {
        const size = 4 * 1024 * 1024;
        wire.send(`POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: ${size}\r\n\r\n`);
        wire.socket.pause();
        const error = await new Promise((resolve) => wire.socket.write(Buffer.alloc(size), resolve));
        assert.ok(!error, String(error));
        wire.socket.resume();
        assert.equal((await wire.answer()).status, 413);
      }));

    test("after an early response to a short body the connection serves the next request", () =>
      talk(async (wire) => {
        wire.send(post("/unread", "x".repeat(600)), get("/name"));
        assert.equal((await wire.answer()).status, 429);
        assert.equal((await wire.answer()).body.toString(), "one");
      }));

    test("100 Continue is sent when the handler wants the body", () =>
      talk(async (wire) => {
        wire.send(
          "POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
        );
        assert.equal((await wire.answer()).status, 100);
        wire.send("hi");
        assert.equal((await wire.answer()).body.toString(), "hi");
      }));

    test("a client that disconnects within its body is logged as aborted", () =>
      talk(async (wire) => {
        wire.send(
          "POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 10\r\nX-Request-Id: gone\r\n\r\nhalf",
        );
        await app.next("began");
        wire.socket.destroy();
        const access = await app.access(({ requestId }) => requestId === "gone");
        assert.equal(access.status, 503);
        assert.equal(access.aborted, true);
      }));
  });
}

for (const place of places) {
  describe(`early responses and timeouts on ${place}`, async () => {
    const bounds = { discardBytesMax: 256 * 1024, discardTimeoutMs: 200, requestTimeoutMs: 250 };
    const app = await startApp(place, { bodyBytesMax: cap, bounds });
    after(() => app.close());

    test("an announced body over the cap gets 413 without 100 Continue, and the connection closes", async () => {
      const wire = await Wire.open(app.port);
      const head = `Host: one.test\r\nContent-Length: ${cap + 1}\r\nExpect: 100-continue`;
      wire.send(`POST /echo HTTP/1.1\r\n${head}\r\n\r\n`);
      const answer = await wire.answer();
      assert.equal(answer.status, 413);
      assert.equal(answer.headers["connection"], "close");
      assert.equal((await wire.closed()).byteLength, 0);
    });

    test("a 413 has Connection: close, and the connection closes after the client's body", async () => {
      const chunked = await Wire.open(app.port);
      chunked.send(chunkedHead("/echo"), chunk("x".repeat(cap)), chunk("x"));
      const announced = await Wire.open(app.port);
      announced.send(`POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: ${cap + 1}\r\n\r\n`);
      for (
        const [wire, rest] of [[chunked, "0\r\n\r\n"], [announced, "x".repeat(cap + 1)]] as [Wire, string][]
      ) {
        const answer = await wire.answer();
        assert.equal(answer.status, 413);
        assert.equal(answer.headers["connection"], "close");
        wire.send(rest);
        assert.equal((await wire.closed()).byteLength, 0);
      }
    });

    test("the body after an early response is discarded up to a maximum of bytes", async (t) => {
      // The time limit never applies here.
      const patient = { ...bounds, discardTimeoutMs: 600_000, requestTimeoutMs: 600_000 };
      const app = await startApp(place, { bodyBytesMax: cap, bounds: patient });
      t.after(() => app.close());
      const wire = await Wire.open(app.port);
      wire.send(`POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 100000000\r\n\r\n`);
      assert.equal((await wire.answer()).status, 413);
      wire.send(Buffer.alloc(1024 * 1024));
      await wire.closed();
    });

    test("the body after an early response is discarded up to a time limit", async () => {
      const wire = await Wire.open(app.port);
      wire.send(`POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 100000000\r\n\r\n`);
      assert.equal((await wire.answer()).status, 413);
      await wire.closed();
    });

    test("a dripping body does not extend the time limit", async (t) => {
      const wire = await Wire.open(app.port);
      wire.send("POST /echo HTTP/1.1\r\nHost: one.test\r\nContent-Length: 1000\r\n\r\n");
      every(t, 20, () => wire.send("x"));
      assert.equal((await wire.closed()).byteLength, 0);
    });
  });
}
