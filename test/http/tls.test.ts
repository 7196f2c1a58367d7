import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type App, get, parse, places, post, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { AppEvent } from "../support/http/echo_app.ts";

interface Http2Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly rstCode: number;
}

const insecure = { rejectUnauthorized: false };

function session(app: App): ClientHttp2Session {
  const opened = connectHttp2(`https://127.0.0.1:${app.port}`, insecure);
  opened.on("error", () => {});
  return opened;
}

function ask(on: ClientHttp2Session, headers: Record<string, string>, body?: Buffer): Promise<Http2Answer> {
  return within(
    new Promise((resolve, reject) => {
      const stream = on.request(headers, { endStream: body === undefined });
      const chunks: Buffer[] = [];
      let answer: Record<string, unknown> = {};
      stream.on("response", (received) => answer = received);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("close", () => {
        const status = Number(answer[":status"]);
        resolve({ status, headers: answer, body: Buffer.concat(chunks), rstCode: stream.rstCode ?? 0 });
      });
      if (body !== undefined) stream.end(body);
    }),
    "answer over HTTP/2",
  );
}

function handshake(app: App, options: object): Promise<TLSSocket> {
  return within(
    new Promise((resolve, reject) => {
      const socket = connectTls({ port: app.port, host: "127.0.0.1", ...insecure, ...options });
      socket.once("secureConnect", () => resolve(socket));
      socket.once("error", reject);
    }),
    "handshake",
  );
}

async function servedName(app: App): Promise<unknown> {
  const socket = await handshake(app, {});
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

const folder = temporaryFolder();
const first = selfSigned(folder, "first");
const second = selfSigned(folder, "second");

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { tls: first, bodyBytesMax: 1024, bounds: { headerBytesMax: 8192 } });
    after(() => app.close());

    test("HTTP/2 and HTTP/1.1 are both served, by ALPN", async () => {
      const http2 = session(app);
      const answer = await ask(http2, { ":path": "/seen?x", "x-request-id": "mine" });
      http2.close();
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["x-request-id"], "mine");
      assert.equal(answer.headers["connection"], undefined);
      const seen = JSON.parse(answer.body.toString());
      assert.deepEqual([seen.path, seen.query, seen.clientAddress], ["/seen", "x", "127.0.0.1"]);
      assert.equal((await app.access(({ requestId }) => requestId === "mine")).aborted, false);

      const wire = await Wire.open(app.port, { tls: true });
      wire.send(get("/seen"), post("/echo", "abc"));
      assert.equal((await wire.answer()).status, 200);
      assert.equal((await wire.answer()).body.toString(), "abc");
      wire.socket.destroy();
    });

    test("413 over HTTP/2 can be read while the body is sent, and the session lives on", async () => {
      const http2 = session(app);
      const echo = { ":path": "/echo", ":method": "POST" };
      for (const announced of [{}, { "content-length": "1000000" }] as Record<string, string>[]) {
        const answer = await ask(http2, { ...echo, ...announced }, Buffer.alloc(1_000_000));
        assert.equal(answer.status, 413);
        assert.equal(JSON.parse(answer.body.toString()).error, "too_large");
        assert.equal(answer.rstCode, 0);
      }
      assert.equal((await ask(http2, { ":path": "/name" })).status, 200);
      http2.close();
    });

    test("413 over HTTP/2 ends the stream of a client that would go on sending", async () => {
      const hasty = await startApp(place, { tls: first, bounds: { discardTimeoutMs: 100 } });
      const http2 = session(hasty);
      const stream = http2.request({ ":path": "/echo", ":method": "POST" });
      const closed = within(new Promise((resolve) => stream.once("close", resolve)), "reset");
      let body = "";
      stream.on("data", (chunk) => body += chunk);
      stream.write(Buffer.alloc(2_000));
      await closed;
      assert.equal(JSON.parse(body).error, "too_large");
      assert.equal(stream.rstCode, 0);
      http2.close();
      await hasty.close();
    });

    test("headers over the cap answer 431 over HTTP/2", async () => {
      const http2 = session(app);
      const answer = await ask(http2, { ":path": "/name", "x-a": "a".repeat(9000) });
      assert.equal(answer.status, 431);
      assert.ok(answer.headers["x-request-id"]);
      http2.close();
    });

    test("malformed HTTP/1.1 over TLS answers 400 with a request id", async () => {
      const wire = await Wire.open(app.port, { tls: true });
      wire.send("GARBAGE\r\n\r\n");
      const answer = await wire.answer();
      assert.equal(answer.status, 400);
      assert.deepEqual(parse(answer), { refused: 400, request_id: answer.headers["x-request-id"] });
      await wire.closed();
    });

    test("plain HTTP on the TLS port is cut, and hurts nobody", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/name"));
      await wire.closed();
      assert.equal(await servedName(app), "first");
    });

    test("a request over HTTP/2 that is cut off is logged as aborted", async () => {
      const http2 = session(app);
      const stream = http2.request({ ":path": "/echo", ":method": "POST", "x-request-id": "gone" });
      stream.on("error", () => {});
      await app.next((event): event is typeof event => event.event === "began");
      http2.destroy();
      assert.equal((await app.access(({ requestId }) => requestId === "gone")).aborted, true);
    });

    test("a renewed certificate is picked up; a broken pair keeps the one before and is reported", async () => {
      const files = { certFile: join(folder, `${place}.pem`), keyFile: join(folder, `${place}.key`) };
      // Whole at once: half a file would be refused too.
      const replace = (file: string, text: string | Buffer) => {
        writeFileSync(`${file}.new`, text);
        renameSync(`${file}.new`, file);
      };
      const isOutcome = (event: AppEvent): event is AppEvent => /^certificate_re/.test(event.event);
      const outcome = async () => (await renewing.next(isOutcome)).event;
      replace(files.certFile, readFileSync(first.certFile));
      replace(files.keyFile, readFileSync(first.keyFile));
      const renewing = await startApp(place, { tls: files, bounds: { certificatePollMs: 20 } });
      assert.equal(await servedName(renewing), "first");
      const kept = session(renewing);
      assert.equal((await ask(kept, { ":path": "/name" })).status, 200);

      replace(files.certFile, "no certificate");
      assert.equal(await outcome(), "certificate_refused");
      // Longer than several polls take: the pair is looked at again, and reported once.
      for (let index = 0; index < 40; index++) assert.equal(await servedName(renewing), "first");
      assert.equal(renewing.events.filter(isOutcome).length, 0);
      replace(files.certFile, readFileSync(second.certFile));
      assert.equal(await outcome(), "certificate_refused");
      assert.equal(await servedName(renewing), "first");
      replace(files.keyFile, readFileSync(second.keyFile));
      assert.equal(await outcome(), "certificate_renewed");
      assert.equal(await servedName(renewing), "second");
      await assert.rejects(
        handshake(renewing, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
      );
      assert.equal((await ask(kept, { ":path": "/name" })).status, 200);
      kept.close();
      await renewing.close();
    });
  });
}
