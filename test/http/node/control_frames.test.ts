import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect } from "node:http2";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { flood, frame, requests } from "../../support/http/http2_frames.ts";
import { FrameClient, windowUpdate } from "../../support/http/frames.ts";
import { ask, get, parse, places, startApp, Wire, within } from "../../support/http/echo.ts";
import { selfSigned } from "../../support/authority.ts";
import { temporaryFolder } from "../../support/folder.ts";

const tls = selfSigned(temporaryFolder(), "control_frames");
/** Far above the limit, including the delay of closing. */
const sentBytesMax = 512 * 1024 * 1024;

/** Sends pieces until the peer closes the connection, and fails after `sentBytesMax`. */
async function pour(socket: Socket, next: (round: number) => Uint8Array): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (let round = 0; socket.writable && socket.bytesWritten < sentBytesMax; round++) {
    if (socket.write(next(round))) continue;
    await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
  }
  assert.ok(socket.bytesWritten < sentBytesMax, "the connection is closed earlier");
  socket.destroy();
}

const priority = frame("priority", { stream: 3, payload: Buffer.from([0, 0, 0, 0, 1]) });
const settings = frame("settings", { payload: Buffer.from([0, 4, 0, 1, 0, 0]) });
const repeated = (bytes: Uint8Array) => Buffer.concat(Array.from({ length: 1_000 }, () => bytes));

/** What is sent first and then repeatedly on an HTTP/2 connection. */
const useless: Readonly<Record<string, { readonly first?: Uint8Array; readonly bytes: Uint8Array }>> = {
  "WINDOW_UPDATE": { bytes: flood("window_update", 1_000) },
  "PING": { bytes: flood("ping", 1_000) },
  "SETTINGS": { bytes: repeated(settings) },
  "PRIORITY": { bytes: repeated(priority) },
  "an unknown frame": { bytes: repeated(Buffer.from([0, 0, 0, 0x77, 0, 0, 0, 0, 0])) },
  "WINDOW_UPDATE of a waiting stream": {
    first: requests("one.test", "/never", { count: 1 }),
    bytes: repeated(windowUpdate(1, 1)),
  },
  "DATA without bytes": {
    first: requests("one.test", "/echo", { count: 1, isOpenPost: true }),
    bytes: repeated(frame("data", { stream: 1 })),
  },
  "DATA of a byte": {
    first: requests("one.test", "/echo", { count: 1, isOpenPost: true }),
    bytes: repeated(frame("data", { stream: 1, payload: Buffer.from("x") })),
  },
};

for (const place of places) {
  describe(`on ${place}`, () => {
    for (const [name, { first, bytes }] of Object.entries(useless)) {
      test(`endless ${name} over HTTP/2 closes only its connection`, async () => {
        const app = await startApp(place, { tls, bodyBytesMax: 1_000_000 });
        const client = await FrameClient.open(app.port);
        if (first !== undefined) client.send(first);
        await pour(client.socket, () => bytes);
        const other = await FrameClient.open(app.port);
        other.ask("/name");
        await other.next("data");
        other.destroy();
        await app.close();
      });
    }

    test("a body that is longer than its Content-Length closes only its connection", async () => {
      const app = await startApp(place, { tls });
      const client = connect(`https://127.0.0.1:${app.port}`, { rejectUnauthorized: false });
      client.on("error", () => {});
      const closed = new Promise((resolve) => client.once("close", resolve));
      // Both requests wait for their body, so the connection closes while another request is open.
      const [other, longer] = [0, 1].map(() => {
        const request = client.request({ ":method": "POST", ":path": "/echo", "content-length": "2" });
        request.on("error", () => {});
        return request;
      });
      other?.write("a");
      longer?.end("abc");
      await within(closed, "close");
      const another = await FrameClient.open(app.port);
      another.ask("/name");
      await another.next("data");
      another.destroy();
      await app.close();
    });

    test("requests that are reset at once close the connection", async () => {
      const app = await startApp(place, { tls });
      const client = await FrameClient.open(app.port);
      await pour(
        client.socket,
        (round) => requests("one.test", "/never", { count: 10, first: 10 * round, isReset: true }),
      );
      await app.close();
    });

    test("a client that reads much and opens its windows often keeps its connection", async () => {
      const app = await startApp(place, { tls });
      const client = await FrameClient.open(app.port);
      client.ask("/stream?176");
      let [taken, updates] = [0, 0];
      while (taken < 176 * 65_536) {
        const { payload } = await client.next("data");
        taken += payload.length;
        // One per kilobyte, for the stream and for the connection.
        const bytes: Uint8Array[] = [];
        for (let left = payload.length; left > 0; left -= 1_024) {
          for (const stream of [0, 1]) bytes.push(windowUpdate(stream, Math.min(left, 1_024)));
        }
        client.send(Buffer.concat(bytes));
        updates += bytes.length;
      }
      assert.ok(updates * 13 > 256 * 1024);
      client.ask("/name");
      await client.next("headers");
      assert.ok(!client.isClosed);
      client.destroy();
      await app.close();
    });

    for (const secure of [false, true]) {
      const how = secure ? "with TLS" : "without TLS";
      const chunked = "POST /echo HTTP/1.1\r\nHost: one.test\r\nTransfer-Encoding: chunked\r\n\r\n";
      const endless: Readonly<Record<string, readonly [first: string, again: string]>> = {
        "empty lines between requests": ["", "\r\n".repeat(1_000)],
        "chunks of a byte": [chunked, "1\r\nx\r\n".repeat(1_000)],
        "chunk extensions": [chunked, `1;${"a".repeat(1_000)}\r\nx\r\n`],
        "trailers": [`${chunked}0\r\n`, `X-A: ${"a".repeat(100)}\r\n`.repeat(10)],
        "requests after an open one": [get("/never"), get("/name").repeat(100)],
      };
      for (const [name, [first, again]] of Object.entries(endless)) {
        // Elsewhere nothing is read after an open request until it times out.
        const isHeld = name === "requests after an open one";
        if (isHeld && !(secure && place === "deno")) continue;
        test(`endless ${name} ${how} close only their connection`, async () => {
          const settings = secure ? { tls } : {};
          const app = await startApp(place, { ...settings, bodyBytesMax: 100_000_000 });
          const wire = await Wire.open(app.port, { tls: secure });
          wire.send(first);
          const bytes = Buffer.from(again);
          await pour(wire.socket, () => bytes);
          const other = await Wire.open(app.port, { tls: secure });
          other.send(get("/seen?1"));
          assert.equal(parse(await other.answer())["query"], "1");
          other.socket.destroy();
          await app.close();
        });
      }
    }
  });
}

test("a client that sends many requests keeps its connection", async () => {
  const app = await startApp("node");
  const wire = await Wire.open(app.port);
  for (let asked = 0; asked < 400; asked++) {
    wire.send(get(`/seen?${asked}`, `X-Long: ${"a".repeat(1_000)}`));
    assert.equal(parse(await wire.answer())["query"], String(asked));
  }
  assert.ok(wire.socket.bytesWritten > 256 * 1024);
  assert.equal((await ask(app.port, get("/name"))).status, 200);
  wire.socket.destroy();
  await app.close();
});
