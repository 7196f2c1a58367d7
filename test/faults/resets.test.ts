/** Tests clients that reset their connections at each point. */

import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { get, startApp, within } from "../support/http/echo.ts";
import { preface, requests } from "../support/http/http2_frames.ts";
import { openFiles } from "../support/http/static_folder.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const tls = selfSigned(temporaryFolder(), "resets");
/** The resets of each kind; an attack makes 20,000 per minute. */
const resets = 100;
const atOnce = 20;

/** The protocol of the handshake and the bytes sent after it. */
const afterHandshake: Readonly<Record<string, readonly [protocol: string, bytes: Uint8Array]>> = {
  "HTTP/1.1": ["http/1.1", Buffer.alloc(0)],
  "HTTP/1.1 after a GET": ["http/1.1", Buffer.from(get("/name"))],
  "HTTP/2": ["h2", Buffer.alloc(0)],
  "HTTP/2 after its preface": ["h2", preface(65_535)],
  "HTTP/2 after a GET": [
    "h2",
    Buffer.concat([preface(65_535), requests("one.test", "/document", { count: 3 })]),
  ],
};
/** A record that announces a ClientHello of 512 bytes. */
const halfClientHello = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);

const kinds: Readonly<Record<string, (socket: Socket) => void>> = {
  "a connection without data": (socket) => socket.resetAndDestroy(),
  "half a ClientHello": (socket) => socket.write(halfClientHello, () => socket.resetAndDestroy()),
  ...Object.fromEntries(
    Object.entries(afterHandshake).map(([name, [protocol, bytes]]) => [name, (socket: Socket) => {
      const secure: TLSSocket = connectTls({ socket, ALPNProtocols: [protocol], rejectUnauthorized: false });
      // After the handshake's last bytes, before the server's tickets arrive.
      secure.on("error", () => {}).once("secureConnect", () => {
        if (bytes.length > 0) secure.write(bytes);
        setImmediate(() => socket.resetAndDestroy());
      });
    }]),
  ),
};

for (const place of ["node process", "deno"] as const) {
  test(`a reset connection leaves no descriptor open on ${place}`, async (t) => {
    const app = await startApp(place, { tls });
    t.after(() => app.close());
    const open = () => openFiles(app.pid).length;
    await resetAll(app.port, Object.keys(kinds), atOnce);
    const before = open();
    for (const kind of Object.keys(kinds)) {
      await resetAll(app.port, [kind], resets);
      await until(() => open() <= before, { what: `${before} descriptors after resets of ${kind}` });
    }
  });

  test(`reset connections do not delay the shutdown on ${place}`, async () => {
    // Longer than the test's deadline.
    const app = await startApp(place, { tls, graceMs: 120_000 });
    await resetAll(app.port, Object.keys(afterHandshake), atOnce);
    await app.close();
  });
}

/** Resets `count` connections of each kind, some at a time. */
async function resetAll(port: number, names: readonly string[], count: number): Promise<void> {
  const waiting = names.flatMap((name) => Array.from({ length: count }, () => name));
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const socket = connect(port, "127.0.0.1");
      const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
      socket.once("connect", () => kinds[name as string]?.(socket));
      await within(closed, `reset of ${name}`);
    }
  }));
}
