import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { before, beforeEach, test } from "node:test";
import { connectionsPerHostMax, openWebhookPool } from "../../src/actions/checked_post.ts";
import type { RequestResult } from "../../src/http/outbound/client_connection.ts";
import type { ConnectionPool, Target } from "../../src/http/outbound/connection_pool.ts";
import { Authority, type Issued } from "../support/authority.ts";
import { type CrmSink, startCrm, status } from "../support/actions/crm_sink.ts";
import { until } from "../support/until.ts";

let authority: Authority;
let certificate: Issued;
let crm: CrmSink;
let connections: ConnectionPool;

before(() => {
  authority = new Authority();
  certificate = authority.issue({
    name: "crm.test",
    use: "server",
    names: ["crm.test", "other.test", "*.many.test", "127.0.0.1"],
  });
});
beforeEach(async () => {
  crm = await startCrm(certificate);
  crm.answer = status(200);
  connections = openWebhookPool({ mayCall: () => true, ca: authority.pem });
});

/** The connections to a host of a tenant while no other sends. */
const shareAlone = connectionsPerHostMax / 2;

interface Sending extends Partial<Target> {
  readonly tenant?: string;
  readonly timeoutMs?: number;
  readonly id?: string;
}

function send(
  { tenant = "acme", timeoutMs = 30_000, id = "1", ...target }: Sending = {},
): Promise<RequestResult> {
  const host = target.hostname ?? "crm.test";
  const text = `POST / HTTP/1.1\r\nHost: ${host}\r\nwebhook-id: ${id}\r\nContent-Length: 2\r\n\r\n{}`;
  const to = { hostname: host, port: crm.port, addresses: ["127.0.0.1"], ...target };
  return new Promise((settle) => connections.send({ target: to, tenant, text, timeoutMs }, settle));
}

/** Returns the responses of `work`, with the CRM's calls and new connections. */
async function seen(work: () => Promise<RequestResult | RequestResult[]>) {
  const [calls, opened] = [crm.calls.length, crm.connections];
  const answers = [await work()].flat();
  return {
    results: answers.map((answer) =>
      answer.kind === "response" ? answer.response.head.status : `${answer.reason} at ${answer.stage}`
    ),
    ids: crm.calls.slice(calls).map(({ headers }) => headers["webhook-id"]),
    opened: crm.connections - opened,
  };
}

const nameOf = (response: ServerResponse) =>
  (response.socket as TLSSocket & { servername: string }).servername;

/** Responds to the first request of each connection and calls `other` for later ones. */
function thenAtLater(other: (response: ServerResponse) => void) {
  const known = new WeakSet<object>();
  return (response: ServerResponse): void => {
    const socket = response.socket as object;
    if (known.has(socket)) return other(response);
    known.add(socket);
    response.end("ok");
  };
}

/** Sends requests that hang until `end`, and resolves once a tenant's share of them has arrived; others get `answer`. */
async function hang(count: number, answer: (response: ServerResponse) => void) {
  const held: ServerResponse[] = [];
  crm.answer = (response, { headers }) =>
    headers["webhook-id"] === "hangs" ? void held.push(response) : answer(response);
  const hanging = Array.from({ length: count }, () => send({ id: "hangs", timeoutMs: 60_000 }));
  await until(() => held.length === shareAlone);
  return {
    async end() {
      for (let at = 0; at < count; at += 1) (await until(() => held[at])).end();
      await Promise.all(hanging);
    },
  };
}

test("a request that times out waiting for a connection is not sent", async () => {
  const hanging = await hang(shareAlone, () => {});
  const ended: string[] = [];
  const { results, ids } = await seen(() =>
    Promise.all([
      send({ tenant: "birch", id: "sent", timeoutMs: 3_000 }).finally(() => ended.push("sent")),
      // Part of its time is kept for the request itself, so it ends before one that has as long and is sent.
      send({ id: "waits", timeoutMs: 3_000 }).finally(() => ended.push("waits")),
    ])
  );
  assert.deepEqual(results, ["ETIMEDOUT at sent", "ETIMEDOUT at waiting"]);
  assert.deepEqual([ids, ended], [["sent"], ["waits", "sent"]]);
  await hanging.end();
});

test("a tenant's hanging webhook does not delay another tenant's at the same host", async () => {
  const hanging = await hang(2 * connectionsPerHostMax, (response) => response.end());
  const { results, ids, opened } = await seen(async () => {
    const answers: RequestResult[] = [];
    for (let at = 0; at < 40; at += 1) answers.push(await send({ tenant: "birch", id: `birch${at}` }));
    return answers;
  });
  assert.deepEqual([results.length, new Set(results), opened], [40, new Set([200]), 1]);
  // None of the first tenant's requests was sent meanwhile.
  assert.ok(!ids.includes("hangs"));
  await hanging.end();
});

test("a connection is reused only for its host name", async () => {
  const names: string[] = [];
  crm.answer = (response) => {
    names.push(nameOf(response));
    response.end();
  };
  const { results, opened } = await seen(async () => [
    await send(),
    await send({ hostname: "other.test" }),
    await send(),
    await send({ hostname: "elsewhere.test" }),
  ]);
  assert.deepEqual(results.slice(0, 3), [200, 200, 200]);
  assert.match(String(results[3]), /at handshake$/);
  assert.deepEqual([names, opened], [["crm.test", "other.test", "crm.test"], 3]);
});

test("a connection is not reused when the name no longer has its address", async () => {
  await send();
  const { results, ids } = await seen(() => send({ addresses: ["127.0.0.9"] }));
  assert.deepEqual([results, ids], [["ECONNREFUSED at connecting"], []]);
  await until(() => crm.open === 0);
});

test("a connection to a refused peer address is closed before the handshake", async () => {
  connections = openWebhookPool({ mayCall: (address) => address !== "127.0.0.1", ca: authority.pem });
  const { results, ids } = await seen(() => send());
  assert.deepEqual([results, ids], [["EADDRESSREFUSED at handshake"], []]);
});

test("a request on a reused connection that closes is sent again with the same id", async () => {
  crm.answer = thenAtLater((response) => response.socket?.destroy());
  const { results, ids, opened } = await seen(async () => [await send({ id: "1" }), await send({ id: "2" })]);
  assert.deepEqual([results, ids, opened], [[200, 200], ["1", "2", "2"], 2]);
});

test("a request is not sent again on a new connection or after the first byte of a response", async () => {
  crm.answer = (response) => response.socket?.destroy();
  const fresh = await seen(() => send());
  assert.deepEqual([fresh.results, fresh.ids.length], [["ECONNRESET at sent"], 1]);
  crm.answer = thenAtLater((response) => response.socket?.end("HTTP/1."));
  await send();
  const started = await seen(() => send());
  assert.deepEqual([started.results, started.ids.length], [["ECONNRESET at sent"], 1]);
});
