import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { after, describe, test } from "node:test";
import { type App, places, startApp, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

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

const folder = temporaryFolder();
const first = selfSigned(folder, "first");

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { tls: first, bodyBytesMax: 1024, bounds: { headerBytesMax: 8192 } });
    after(() => app.close());

    test("a client can read a 413 over HTTP/2 while sending the body, and the session continues", async () => {
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

    test("a 413 over HTTP/2 ends the stream of a client that keeps sending", async () => {
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

    test("headers over the maximum get 431 over HTTP/2", async () => {
      const http2 = session(app);
      const answer = await ask(http2, { ":path": "/name", "x-a": "a".repeat(9000) });
      assert.equal(answer.status, 431);
      assert.ok(answer.headers["x-request-id"]);
      http2.close();
    });

    test("an interrupted HTTP/2 request is logged as aborted", async () => {
      const http2 = session(app);
      const stream = http2.request({ ":path": "/echo", ":method": "POST", "x-request-id": "gone" });
      stream.on("error", () => {});
      await app.next("began");
      http2.destroy();
      assert.equal((await app.access(({ requestId }) => requestId === "gone")).aborted, true);
    });
  });
}
