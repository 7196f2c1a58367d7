import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { test } from "node:test";
import { selfSigned } from "../support/authority.ts";
import { send } from "../support/client.ts";
import { type RunningServer } from "../support/server.ts";
import { exchangeRaw } from "../support/http/raw_connection.ts";
import { lead, TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

const folder = temporaryFolder("suite-ops");
const { certFile, keyFile } = selfSigned(folder, "ops");

const testEnv = await TestEnv.open();
const plain = await testEnv.start();
const tls = await testEnv.start({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
const key = await testEnv.issue();
await testEnv.intake({ key: key.text, body: lead() }, plain);
const localAddress = "127.0.0.1";

const paths = ["/v1/leads", "/v1/report", "/metrics", "/debug/vars"];

const publicSurfaces = ["intake", "forms", "subscription", "site"];

/** Returns variants of a path that a proxy or a framework might treat as the same. */
function spellings(path: string): string[] {
  const last = path.slice(-1);
  const encoded = `${path.slice(0, -1)}%${last.charCodeAt(0).toString(16)}`;
  const first = path[1] as string;
  return [
    path,
    `${path}?limit=1`,
    `${path}/`,
    `/${path}`,
    `//localhost${path}`,
    path.toUpperCase(),
    path.replaceAll("/", "//"),
    `/.${path}`,
    `/x/..${path}`,
    `${path}/.`,
    `${path};x=1`,
    `${path}%00`,
    `${path}%20`,
    `${path}.json`,
    encoded,
    `/%${first.charCodeAt(0).toString(16)}${path.slice(2)}`,
    path.replaceAll("/", "%2f"),
    `/%2e${path}`,
    `\\${path.slice(1)}`,
  ];
}

/** Returns headers with which proxies claim another address. */
function deceits(opsHost: string, path: string): string[] {
  return [
    `Host: ${opsHost}`,
    `Host: localhost`,
    `Host: x\r\nX-Forwarded-Host: ${opsHost}`,
    `Host: x\r\nForwarded: host="${opsHost}"`,
    `Host: x\r\nX-Original-URL: ${path}\r\nX-Rewrite-URL: ${path}`,
    `Host: x\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Port: ${opsHost.split(":")[1]}`,
  ];
}

const hostOf = (server: RunningServer) => new URL(server.urls.ops as string).host;

/** Asserts a refusal that contains nothing of the ops listener's responses. */
function assertNothing(status: number, text: string, what: string): void {
  assert.ok([400, 404, 405, 421].includes(status), `${what}: ${status}`);
  assert.doesNotMatch(text, /next_cursor|"report"|# HELP|memstats|lead_accepted|Zmarker|[Cc]onsole/, what);
}

test("no public listener serves the operator's paths, whatever their spelling and headers", async () => {
  const opsHost = hostOf(plain);
  for (const surface of publicSurfaces) {
    const url = plain.urls[surface] as string;
    for (const path of [...paths, "/dead"]) {
      for (const target of spellings(path)) {
        const bytes = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
        const { status, body } = await exchangeRaw(url, bytes, { isOfIntake: false });
        assertNothing(status, body, `${surface} ${target}`);
        if (target === path) assert.equal(status, 404, `${surface} ${target}`);
      }
      for (const headers of deceits(opsHost, path)) {
        for (const target of [path, `http://${opsHost}${path}`, `HTTP://localhost${path}`, "/"]) {
          const bytes = `GET ${target} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`;
          const { status, body } = await exchangeRaw(url, bytes, { isOfIntake: false });
          // The site has a page at /.
          if (target !== "/") assertNothing(status, body, `${surface} ${target} ${headers}`);
          assert.doesNotMatch(body, /next_cursor|# HELP|memstats|Zmarker/);
        }
      }
    }
  }
});

test("no public listener serves them over HTTP/2, whatever the :authority", async () => {
  const ca = readFileSync(certFile, "utf8");
  for (const surface of publicSurfaces) {
    const session = connectHttp2(tls.urls[surface] as string, { ca });
    try {
      for (const path of paths) {
        for (const authority of [hostOf(tls), "localhost", "127.0.0.1"]) {
          const { status, text } = await new Promise<{ status: number; text: string }>((settle, reject) => {
            const stream = session.request({
              ":path": path,
              ":authority": authority,
              "x-forwarded-host": authority,
            });
            let text = "";
            let status = 0;
            stream.setEncoding("utf8").on("data", (part: string) => text += part)
              .on("response", (headers) => status = Number(headers[":status"]))
              .on("end", () => settle({ status, text })).on("error", reject).end();
          });
          assert.equal(status, 404, `${surface} ${path} ${authority}`);
          assertNothing(status, text, `${surface} ${path} ${authority}`);
        }
      }
    } finally {
      session.destroy();
    }
  }
});

test("the ops listener answers 421 to any Host but its own names", async () => {
  const ops = plain.urls.ops as string;
  const { port } = new URL(ops);
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, "LOCALHOST", "localhost.", `[::1]:${port}`];
  const others = [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "0.0.0.0",
    "127.0.0.2",
  ];
  for (const path of [...paths, "/"]) {
    for (const host of own) {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { status } = await exchangeRaw(ops, bytes, { isOfIntake: false });
      assert.equal(status, 200, `${path} ${host}`);
    }
    for (const host of others) {
      for (const headers of [`Host: ${host}`, `Host: ${host}\r\nX-Forwarded-Host: localhost`]) {
        const bytes = `GET ${path} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`;
        const { status, body } = await exchangeRaw(ops, bytes, { isOfIntake: false });
        assert.equal(status, 421, `${path} ${headers}`);
        assertNothing(status, body, headers);
      }
      const absolute = `GET http://${host}${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      assert.equal((await exchangeRaw(ops, absolute, { isOfIntake: false })).status, 421, host);
    }
  }
});

test("every response of the ops listener forbids caching, other origins and sniffing", async () => {
  const ops = plain.urls.ops as string;
  const headers = { Origin: "https://evil.example" };
  for (const path of [...paths, "/v1/leads?nonsense=1", "/nothing"]) {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const answer = await send(`${ops}${path}`, { method, headers, localAddress });
      assert.equal(answer.headers["cache-control"], "no-store", `${method} ${path}`);
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin");
      assert.equal(answer.headers["referrer-policy"], "no-referrer");
      const cors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));
      assert.deepEqual(cors, []);
      if (path !== "/nothing" && method !== "GET") {
        assert.equal(answer.status, 405);
        assert.equal(answer.headers.allow, "GET, HEAD");
      }
    }
  }
});
