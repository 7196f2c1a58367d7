import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { before, beforeEach, test } from "node:test";
import { CheckedPost, connectionsPerHostMax } from "../../src/actions/checked_post.ts";
import type { Outcome } from "../../src/actions/outcome.ts";
import { createResolver, type Resolve } from "../../src/actions/dns_cache.ts";
import { Networks, parseNetworks } from "../../src/http/addresses.ts";
import { atEnd } from "../support/at_end.ts";
import { Authority } from "../support/authority.ts";
import { type CrmSink, startCrm, status } from "../support/actions/crm_sink.ts";
import { type NameServer, startNameServer } from "../support/actions/name_server.ts";

let authority: Authority;
let crm: CrmSink;
let names: NameServer;

before(async () => {
  authority = new Authority();
  const certificate = authority.issue({
    name: "crm.test",
    use: "server",
    names: ["crm.test", "localhost", "127.0.0.1"],
  });
  crm = await startCrm(certificate);
  names = await startNameServer();
});
beforeEach(() => {
  crm.answer = status(204);
  names.answer = () => ["127.0.0.1"];
});

interface Sending {
  readonly url?: string;
  readonly allowed?: string;
  readonly timeoutMs?: number;
  readonly resolve?: Resolve;
  readonly trust?: string;
}

function send(options: Sending = {}): Promise<Outcome> {
  const post = new CheckedPost({
    allowedNetworks: parseNetworks(options.allowed ?? "127.0.0.0/8"),
    timeoutMs: options.timeoutMs ?? 20_000,
    resolve: options.resolve ?? createResolver({ servers: [names.address] }),
    ca: options.trust ?? authority.pem,
  });
  const url = options.url ?? `https://crm.test:${crm.port}/leads?token=a%2Fb`;
  return post.send(url, { tenant: "acme", body: '{"a":"ä"}', headers: { "X-Own": "1" } });
}

/** Sends once and returns the outcome with the CRM's counts of calls and connections. */
async function attempt(options: Sending = {}) {
  const [calls, connections] = [crm.calls.length, crm.connections];
  const outcome = await send(options);
  return {
    outcome,
    calls: crm.calls.length - calls,
    connections: crm.connections - connections,
  };
}

const reasonOf = (outcome: Outcome) => outcome.kind === "failed" ? outcome.reason : outcome.kind;

for (const code of [400, 401, 404, 409, 410, 422, 500, 502]) {
  test(`status ${code} fails as http_${code}`, async () => {
    crm.answer = status(code);
    assert.deepEqual(await send(), {
      kind: "failed",
      reason: `http_${code}`,
      retryAfterSeconds: null,
      status: code,
      answer: "",
      headers: {},
    });
  });
}

const invalid = ["soon", "soon 2099", "", "-1", "-9999999999", "1.5", "1e400", "+5", "5, 6"].map((text) =>
  [`the invalid "${text}"`, { "Retry-After": text }, null] as const
);
const waits: readonly (readonly [string, Readonly<Record<string, string>>, number | null])[] = [
  ["seconds", { "Retry-After": "120" }, 120],
  ["0", { "Retry-After": "0" }, 1],
  ["centuries", { "Retry-After": "9999999999" }, 86_400],
  ["400 digits", { "Retry-After": "9".repeat(400) }, 86_400],
  ["a far date", { "Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT" }, 86_400],
  [
    "a date",
    { "Retry-After": "Thu, 03 Sep 2026 14:06:00 GMT", "Date": "Thu, 03 Sep 2026 14:05:00 GMT" },
    60,
  ],
  ["a date that has passed", { "Retry-After": "Thu, 03 Sep 2020 14:06:00 GMT" }, 1],
  ...invalid,
];
for (const [what, headers, seconds] of waits) {
  test(`Retry-After with ${what} is reported as ${seconds}`, async () => {
    crm.answer = status(503, headers);
    const outcome = await send();
    assert.ok(outcome.kind === "failed");
    assert.deepEqual([outcome.reason, outcome.retryAfterSeconds], ["http_503", seconds]);
  });
}

test("a missing response fails as timeout_answer", async () => {
  crm.answer = () => {};
  assert.equal(reasonOf((await attempt({ timeoutMs: 2_000 })).outcome), "timeout_answer");
});

test("an unfinished handshake fails as timeout_tls", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on("error", () => {})));
  await new Promise<void>((settle) => silent.listen(0, "127.0.0.1", settle));
  atEnd(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = `https://crm.test:${(silent.address() as AddressInfo).port}/`;
  assert.equal(reasonOf(await send({ url, timeoutMs: 1_000 })), "timeout_tls");
});

test("a silent name server fails as timeout_name", async () => {
  names.answer = () => null;
  const { outcome, connections } = await attempt({ url: "https://silent.test/", timeoutMs: 300 });
  assert.equal(reasonOf(outcome), "timeout_name");
  assert.equal(connections, 0);
});

test("the outcome of success and failure has the status and the start of the response", async () => {
  for (const code of [200, 422]) {
    crm.answer = (response) => {
      response.writeHead(code, { "Content-Type": "application/json" });
      response.write('{"error":');
      setImmediate(() => response.end('"no such list"}'));
    };
    const outcome = await send();
    assert.deepEqual([outcome.status, outcome.answer], [code, '{"error":"no such list"}']);
  }
});

test("a response body that never ends does not occupy a connection", async () => {
  crm.answer = (response) => {
    response.writeHead(200);
    response.write("o");
  };
  const post = new CheckedPost({
    allowedNetworks: parseNetworks("127.0.0.0/8"),
    timeoutMs: 300_000,
    resolve: createResolver({ servers: [names.address] }),
    ca: authority.pem,
  });
  const url = `https://crm.test:${crm.port}/leads`;
  const outcomes = await Promise.all(
    Array.from({ length: 3 * connectionsPerHostMax }, () => post.send(url, { tenant: "acme", body: "{}" })),
  );
  assert.ok(outcomes.every(({ kind }) => kind === "done"));
});

test("a certificate from an unknown CA or for another name is rejected before anything is sent", async () => {
  const other = new Authority("unknown");
  const unknown = await attempt({ trust: other.pem });
  assert.deepEqual([reasonOf(unknown.outcome), unknown.calls], ["certificate_refused", 0]);
  const elsewhere = await attempt({ url: `https://other.test:${crm.port}/` });
  assert.deepEqual([reasonOf(elsewhere.outcome), elsewhere.calls], ["certificate_refused", 0]);
});

for (const url of ["http://crm.test/", "ftp://crm.test/", "https://user:pw@crm.test/", "crm.test", ""]) {
  test(`the URL ${JSON.stringify(url)} is refused without a DNS query`, async () => {
    const questions = names.questions.length;
    assert.equal(reasonOf((await attempt({ url })).outcome), "url_refused");
    assert.equal(names.questions.length, questions);
  });
}

for (
  const host of [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "[::1]",
    "[::ffff:7f00:1]",
    "[::]",
  ]
) {
  test(`the host ${host} is refused without a connection`, async () => {
    const { outcome, connections } = await attempt({ url: `https://${host}:${crm.port}/`, allowed: "" });
    assert.equal(reasonOf(outcome), "address_refused");
    assert.equal(connections, 0);
  });
}

for (
  const address of ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:7f00:1", "fd00::1", "fe80::1"]
) {
  test(`a name that resolves to ${address} is refused without a connection`, async () => {
    names.answer = () => [address];
    const { outcome, connections } = await attempt({ allowed: "" });
    assert.equal(reasonOf(outcome), "address_refused");
    assert.equal(connections, 0);
  });
}

test("a name is resolved once per request, so DNS rebinding has no effect", async () => {
  let queries = 0;
  // A rebinding name server returns an allowed address first, then another one.
  names.answer = () => queries++ < 2 ? ["127.0.0.50"] : ["127.0.0.1"];
  const rebound = await attempt({ allowed: "127.0.0.50/32" });
  assert.deepEqual([reasonOf(rebound.outcome), rebound.connections], ["connection_refused", 0]);
  // One query per address family.
  assert.equal(queries, 2);
  const next = await attempt({ allowed: "127.0.0.50/32" });
  assert.deepEqual([reasonOf(next.outcome), next.connections], ["address_refused", 0]);
});

test("an address that is no longer allowed gets no request over an open connection", async () => {
  let isAllowed = true;
  const post = new CheckedPost({
    allowedNetworks: new class extends Networks {
      override contains(): boolean {
        return isAllowed;
      }
    }(),
    timeoutMs: 20_000,
    resolve: createResolver({ servers: [names.address] }),
    ca: authority.pem,
  });
  const url = `https://crm.test:${crm.port}/`;
  assert.equal(reasonOf(await post.send(url, { tenant: "acme", body: "{}" })), "done");
  isAllowed = false;
  const calls = crm.calls.length;
  assert.equal(reasonOf(await post.send(url, { tenant: "acme", body: "{}" })), "address_refused");
  assert.equal(crm.calls.length, calls);
});
