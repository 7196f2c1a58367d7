import assert from "node:assert/strict";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { after, describe, test } from "node:test";
import { type App, ask, get, parse, places, post, startApp, Wire, within } from "../support/http/echo.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const files = selfSigned(temporaryFolder(), "hostile");

function session(port: number, options?: SecureClientSessionOptions): ClientHttp2Session {
  const opened = connectHttp2(`https://127.0.0.1:${port}`, { ...options, rejectUnauthorized: false });
  opened.on("error", () => {});
  return opened;
}

function status(on: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<number | string> {
  const stream = on.request(headers);
  stream.resume();
  return within(
    new Promise((resolve) => {
      stream.once("response", (answer) => resolve(Number(answer[":status"])));
      stream.once("error", () => resolve("reset"));
    }),
    "answer over HTTP/2",
  );
}

/** Asserts that a chunked post with a hidden request is refused and the connection closes. */
async function refusedFor(
  app: App,
  { status, lines, version = "1.1" }: { status: number; lines: readonly string[]; version?: string },
): Promise<void> {
  const hidden = get("/name");
  const wire = await Wire.open(app.port);
  wire.send(
    [`POST /echo HTTP/${version}`, "Host: a", ...lines, "", ""].join("\r\n"),
    `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
  );
  const answer = await wire.answer();
  assert.equal(answer.status, status, lines.join());
  assert.equal(answer.headers["connection"], "close");
  assert.deepEqual(parse(answer), { refused: status, request_id: answer.headers["x-request-id"] });
  assert.equal((await wire.closed()).byteLength, 0);
}

for (const place of places) {
  describe(`HTTP/2 on ${place}`, async () => {
    const app = await startApp(place, { tls: files });
    after(() => app.close());

    test("CONNECT, which has no :path, is refused and the session continues", async () => {
      const http2 = session(app.port);
      assert.equal(await status(http2, { ":method": "CONNECT", ":authority": "one.test:443" }), 400);
      assert.equal((await app.access()).status, 400);
      assert.equal(await status(http2, { ":path": "/name" }), 200);
      http2.close();
    });

    test("an invented method is not logged", async () => {
      const http2 = session(app.port);
      const method = "secret_abcdefgh".repeat(20);
      assert.equal(await status(http2, { ":path": "/name", ":method": method }), 405);
      const access = await app.access(({ status }) => status === 405);
      assert.equal(access.method, "-");
      assert.ok(!JSON.stringify(access).includes("secret"));
      http2.close();
    });

    test("clients that send GOAWAY during or after large responses affect no other client", async () => {
      for (const [code, isBehind] of [[0, true], [0, false], [2, true], [2, false]] as const) {
        const left = Array.from({ length: 30 }, async () => {
          const http2 = session(app.port);
          const ended = new Promise((resolve) => {
            http2.once("close", resolve);
            // After an error code the server answers with GOAWAY, and Node's client may not report the end.
            if (code !== 0) http2.once("goaway", resolve);
          });
          const stream = http2.request({ ":path": "/stream?20" });
          stream.on("error", () => {});
          const leave = () => http2.destroyed || http2.goaway(code);
          stream.once("data", () => isBehind || leave()).once("end", leave).once(
            "close",
            () => http2.close(),
          );
          await within(ended, "end of the session");
          http2.destroy();
        });
        await Promise.all(left);
      }
      const http2 = session(app.port);
      assert.equal(await status(http2, { ":path": "/name" }), 200);
      http2.close();
    });

    test("a thousand header lines are read, and one more gets 431", async () => {
      // Four of the lines are pseudo-headers.
      const withLines = (lines: number): OutgoingHttpHeaders => ({
        ":path": "/name",
        ...Object.fromEntries(Array.from({ length: lines - 4 }, (_, n) => [`a${n}`, ""])),
      });
      for (const [lines, expected] of [[1_000, 200], [1_001, 431], [2_500, 431]] as const) {
        const http2 = session(app.port, { maxSendHeaderBlockLength: 1_000_000 });
        // After this both sides know each other's settings.
        assert.equal(await status(http2, { ":path": "/nothing" }), 404);
        assert.equal(await status(http2, withLines(lines)), expected);
        assert.match((await app.access(({ status }) => status === expected)).requestId, /^made-/);
        http2.close();
      }
    });

    test("white space around a header's value is removed, as in HTTP/1.1", async () => {
      const http2 = session(app.port);
      const stream = http2.request({ ":path": "/seen", "x-twice": "\t a  b \t", "x-request-id": " id " });
      let text = "";
      stream.setEncoding("utf8").on("data", (piece) => text += piece);
      await within(new Promise((resolve) => stream.once("end", resolve)), "answer over HTTP/2");
      const { twice, requestId } = JSON.parse(text);
      assert.deepEqual([twice, requestId], ["a  b", "id"]);
      http2.close();
    });

    test("invalid pseudo-headers and an unknown Expect are refused", async () => {
      const odd: OutgoingHttpHeaders[] = [
        { ":path": "/name", ":authority": "" },
        { ":path": "/name", ":authority": "a b" },
        { ":path": "*", ":method": "OPTIONS" },
        { ":path": "/name", ":method": "G\u00e9T" },
        { ":path": "/name", expect: "something" },
      ];
      for (const headers of odd) {
        const http2 = session(app.port);
        assert.notEqual(await status(http2, headers), 200);
        http2.destroy();
      }
      const http2 = session(app.port);
      assert.equal(await status(http2, { ":path": "/name" }), 200);
      http2.close();
    });
  });
}

for (const place of places) {
  describe(`HTTP/1 on ${place}`, async () => {
    // An endless body is abandoned after this time.
    const app = await startApp(place, { bounds: { discardTimeoutMs: 200 } });
    after(() => app.close());

    test("a reset after a CONNECT affects no other client", async () => {
      const wire = await Wire.open(app.port);
      wire.send("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.equal((await wire.answer()).status, 400);
      wire.send("more of it");
      wire.socket.resetAndDestroy();
      assert.equal((await ask(app.port, get("/name"))).status, 200);
    });

    test("a missing, repeated or malformed Host and an unknown Expect close the connection", async () => {
      for (
        const [lines, expected] of [
          ["X-A: b", 400],
          ["Host: a\r\nHost: a", 400],
          ["Host: a b", 400],
          ["Host: a\r\nExpect: something", 417],
        ] as const
      ) {
        const wire = await Wire.open(app.port);
        wire.send(`GET /name HTTP/1.1\r\n${lines}\r\n\r\n`, get("/name"));
        const answer = await wire.answer();
        assert.deepEqual([answer.status, answer.headers["connection"]], [expected, "close"]);
        assert.equal((await wire.closed()).byteLength, 0);
      }
    });

    test("a version other than 1.0 and 1.1 gets 400", async () => {
      for (const version of ["0.9", "1.2", "2.0", "3.0"]) {
        const answer = await ask(app.port, get("/name").replace("HTTP/1.1", `HTTP/${version}`));
        assert.deepEqual([version, answer.status, answer.headers["connection"]], [version, 400, "close"]);
      }
    });

    test("a thousand header lines are read, and one more gets 431", async () => {
      const seen = (lines: number) =>
        ask(app.port, `GET /seen HTTP/1.1\r\nHost: a\r\n${"a:\r\n".repeat(lines - 2)}X-Twice: last\r\n\r\n`);
      assert.equal(parse(await seen(1_000))["twice"], "last");
      for (const lines of [1_001, 2_500, 4_000]) {
        const answer = await seen(lines);
        assert.equal(answer.status, 431);
        assert.deepEqual(parse(answer), { refused: 431, request_id: answer.headers["x-request-id"] });
      }
    });

    test("a transfer coding before chunked gets 501", async () => {
      for (const codings of ["gzip, chunked", "GZIP,Chunked", "deflate , chunked", "identity, chunked"]) {
        await refusedFor(app, { status: 501, lines: [`Transfer-Encoding: ${codings}`] });
      }
      await refusedFor(app, {
        status: 501,
        lines: ["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"],
      });
    });

    test("a transfer coding other than one final chunked gets 400, and so does any in HTTP/1.0", async () => {
      for (const codings of ["chunked, gzip", "gzip", "identity", "chunked, chunked", "xchunked", ""]) {
        await refusedFor(app, { status: 400, lines: [`Transfer-Encoding: ${codings}`] });
      }
      await refusedFor(app, {
        status: 400,
        lines: ["Transfer-Encoding: chunked", "Transfer-Encoding: gzip"],
      });
      await refusedFor(app, { status: 400, lines: ["Transfer-Encoding: chunked"], version: "1.0" });
    });

    test("two Content-Length values get 400, even if equal", async () => {
      for (const second of ["4", "5", "4, 4"]) {
        await refusedFor(app, { status: 400, lines: ["Content-Length: 4", `Content-Length: ${second}`] });
      }
      await refusedFor(app, { status: 400, lines: ["Content-Length: 4, 4"] });
    });

    test("a client that half-closes after its request gets a response", async () => {
      const wire = await Wire.open(app.port);
      wire.send(get("/held"));
      wire.socket.end();
      await app.next("began");
      await ask(app.port, post("/release", ""));
      assert.equal((await wire.answer()).body.toString(), "held");
      await wire.closed();
    });
  });
}

test("a fault before the handler runs gets 503 and is reported", async () => {
  for (const [place, tls] of places.flatMap((place) => [[place, false], [place, true]] as const)) {
    const app = await startApp(place, { throwing: ["generate"], ...(tls ? { tls: files } : {}) });
    const wire = await Wire.open(app.port, { tls });
    wire.send(get("/name"));
    const answer = await wire.answer();
    assert.deepEqual([answer.status, answer.headers["connection"]], [503, "close"]);
    await app.next("fault");
    await wire.closed();
    // Malformed HTTP needs an id too, so there is no response.
    const garbage = await Wire.open(app.port, { tls });
    garbage.send("GARBAGE\r\n\r\n");
    assert.equal((await garbage.closed()).byteLength, 0);
    if (tls) {
      const http2 = session(app.port);
      assert.equal(await status(http2, { ":path": "/name" }), 503);
      http2.close();
    }
    await app.close();
  }
});
