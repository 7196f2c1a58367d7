import assert from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { test } from "node:test";
import { connect as connectTls, type ConnectionOptions, createServer, type TLSSocket } from "node:tls";
import { selfSigned } from "../support/authority.ts";
import { post, type RequestOptions, send } from "../support/client.ts";
import { assertDocumented } from "../support/contract/contract.ts";
import { until } from "../support/until.ts";
import { checked, freshKey, lead, TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

const folder = temporaryFolder("suite-tls");

const { certFile, keyFile } = selfSigned(folder, "first");
const renewed = selfSigned(folder, "renewed");
const ca = readFileSync(certFile, "utf8");

const testEnv = await TestEnv.open();
const server = await testEnv.start({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
const key = await testEnv.issue();
const port = Number(new URL(server.url).port);

/** Performs a handshake and returns the protocol, the ALPN choice and the certificate's name. */
function handshake(options: ConnectionOptions): Promise<{ version: string; alpn: unknown; name: unknown }> {
  return new Promise((settle, reject) => {
    const socket: TLSSocket = connectTls({
      host: "127.0.0.1",
      port,
      rejectUnauthorized: false,
      ...options,
    }, () => {
      const { alpnProtocol: alpn } = socket;
      settle({ version: String(socket.getProtocol()), alpn, name: socket.getPeerCertificate().subject.CN });
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

/** Posts over HTTP/2. */
function postHttp2(url: string, options: { body: unknown; headers: Record<string, string> }) {
  const session = connectHttp2(url, { ca });
  return new Promise<{ status: number; headers: Record<string, unknown>; json: Record<string, unknown> }>(
    (settle, reject) => {
      session.on("error", reject);
      const stream = session.request({ ":method": "POST", ":path": "/v1/intake", ...options.headers });
      let headers: Record<string, unknown> = {};
      let text = "";
      stream.on("response", (received) => headers = received);
      stream.setEncoding("utf8").on("data", (part: string) => text += part);
      stream.on("end", () => {
        const status = Number(headers[":status"]);
        const sent = headers as Record<string, string>;
        try {
          assertDocumented({ method: "POST", path: "/v1/intake", status, headers: sent, text });
          settle({ status, headers, json: JSON.parse(text) });
        } catch (error) {
          reject(error);
        }
      });
      stream.on("error", reject);
      stream.end(JSON.stringify(options.body));
    },
  ).finally(() => session.close());
}

test("POST /v1/intake over HTTPS and HTTP/1.1 answers 202, {} 422, no key 401, 64 KiB and a byte 413", async () => {
  const intake = async (options: RequestOptions) =>
    checked(await post(`${server.url}/v1/intake`, { ...options, ca, localAddress: "127.0.0.1" }));
  const accepted = await intake({ key: key.text, body: lead() });
  assert.equal(accepted.status, 202);
  assert.ok(await testEnv.event(accepted.json.event_id));
  assert.equal((await intake({ key: key.text, body: {} })).status, 422);
  assert.equal((await intake({ body: lead() })).status, 401);
  const over = await intake({ key: key.text, body: " ".repeat(65_537) });
  assert.deepEqual([over.status, over.json], [413, { error: "body_too_large" }]);
});

test("POST /v1/intake over HTTP/2 answers the same", async () => {
  const idempotencyKey = freshKey();
  const headers = {
    "x-api-key": key.text,
    "idempotency-key": idempotencyKey,
    "x-request-id": "h2 request",
  };
  const body = lead();
  const accepted = await postHttp2(server.url, { body, headers });
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers["x-request-id"], "h2 request");
  const again = await postHttp2(server.url, { body, headers });
  assert.equal(again.status, 200);
  assert.equal(again.json.event_id, accepted.json.event_id);
  const refused = await postHttp2(server.url, { body: {}, headers: { "x-api-key": key.text } });
  assert.equal(refused.status, 422);
  assert.equal(refused.json.request_id, refused.headers["x-request-id"]);
  const unknown = await postHttp2(server.url, { body, headers: { "x-request-id": "401 over h2" } });
  assert.deepEqual(unknown.json, { error: "unauthorized", request_id: "401 over h2" });
});

test("100 concurrent posts on one HTTP/2 connection share few commits", async () => {
  const session = connectHttp2(server.url, { ca });
  const posts = Array.from({ length: 100 }, () =>
    new Promise<number>((settle, reject) => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/v1/intake",
        "x-api-key": key.text,
      });
      stream.on("response", (headers) => settle(Number(headers[":status"])));
      stream.on("error", reject).resume();
      stream.end(JSON.stringify(lead()));
    }));
  assert.deepEqual(new Set(await Promise.all(posts)), new Set([202]));
  session.close();
});

test("TLS 1.3 and 1.2 are accepted, with h2 when offered and HTTP/1.1 otherwise", async () => {
  const versions = [];
  for (const version of ["TLSv1.3", "TLSv1.2"] as const) {
    versions.push((await handshake({ minVersion: version, maxVersion: version })).version);
  }
  assert.deepEqual(versions, ["TLSv1.3", "TLSv1.2"]);
  assert.equal((await handshake({ ALPNProtocols: ["h2", "http/1.1"] })).alpn, "h2");
  assert.equal((await handshake({ ALPNProtocols: ["http/1.1"] })).alpn, "http/1.1");
});

test("TLS 1.1 is refused by the server", async () => {
  // OpenSSL supports it at security level 0 only; a server that allows it proves that this client can use it.
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" } as const;
  const willing = createServer({
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: "TLSv1.1",
    ciphers: "ALL@SECLEVEL=0",
  });
  await new Promise<void>((settle) => willing.listen(0, "127.0.0.1", settle));
  const willingPort = (willing.address() as { port: number }).port;
  assert.equal((await handshake({ ...old, port: willingPort })).version, "TLSv1.1");
  willing.close();
  await assert.rejects(handshake(old), /protocol version|handshake failure|unsupported|version/i);
});

test("plain HTTP on the HTTPS port gets no response and no redirect", async () => {
  const answer = await new Promise<string>((settle) => {
    const socket = connectTcp(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => text += part);
    socket.on("error", () => settle(text)).on("close", () => settle(text));
    socket.write("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  });
  assert.doesNotMatch(answer, /store_writable|Location/i);
});

test("every response over HTTPS has Strict-Transport-Security, refusals too, and none over plain HTTP", async () => {
  const name = "strict-transport-security";
  const asked = async (url: string, options: RequestOptions = {}) =>
    (await send(url, { ca, localAddress: "127.0.0.1", ...options })).headers[name];
  const malformed = await new Promise<string>((settle, reject) => {
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => text += part);
    socket.on("error", reject).on("end", () => settle(text));
    socket.end("GARBAGE\r\n\r\n");
  });
  assert.match(malformed, /^HTTP\/1\.1 400 [^]*^Strict-Transport-Security: max-age=63072000\r$/m);
  for (const surface of ["intake", "forms", "subscription", "site"]) {
    for (const path of ["/healthz", "/nothing-here", "/"]) {
      assert.equal(await asked(`${server.urls[surface]}${path}`), "max-age=63072000", `${surface} ${path}`);
    }
  }
  const refused = await postHttp2(server.url, { body: {}, headers: {} });
  assert.deepEqual([refused.status, refused.headers[name]], [401, "max-age=63072000"]);
  assert.equal(await asked(`${server.urls.ops}/metrics`), undefined);
  const plain = await testEnv.start();
  assert.equal(await asked(`${plain.url}/healthz`), undefined);
});

test("a renewed certificate is used without a restart", async () => {
  assert.equal((await handshake({})).name, "first");
  copyFileSync(renewed.keyFile, keyFile);
  copyFileSync(renewed.certFile, certFile);
  await until(async () => (await handshake({})).name === "renewed");
  await until(() => server.logs.some((line) => line.event === "certificate_renewed"));
});

test("SIGTERM ends the HTTPS listener with an HTTP/2 session open, exit 0", async () => {
  const session = connectHttp2(server.url, { ca: readFileSync(renewed.certFile) });
  session.on("error", () => {});
  await new Promise<void>((settle) => session.once("connect", () => settle()));
  const startMs = performance.now();
  assert.equal(await server.stop(), 0);
  assert.ok(performance.now() - startMs < 20_000, "it did not wait for the grace to be over");
  session.destroy();
});
