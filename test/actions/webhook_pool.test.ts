import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { before, beforeEach, test } from "node:test";
import { connectionsPerHostMax, openWebhookPool } from "../../src/actions/checked_post.ts";
import type { Answer } from "../../src/http/outbound/client_connection.ts";
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

/** What one tenant gets that is alone at a host. */
const shareAlone = connectionsPerHostMax / 2;

interface Sending extends Partial<Target> {
  readonly tenant?: string;
  readonly timeoutMs?: number;
  readonly id?: string;
}

function send(
  { tenant = "acme", timeoutMs = 30_000, id = "1", ...target }: Sending = {},
): Promise<Answer> {
  const host = target.hostname ?? "crm.test";
  const text = `POST / HTTP/1.1\r\nHost: ${host}\r\nwebhook-id: ${id}\r\nContent-Length: 2\r\n\r\n{}`;
  const to = { hostname: host, port: crm.port, addresses: ["127.0.0.1"], ...target };
  return new Promise((settle) => connections.send({ target: to, tenant, text, timeoutMs }, settle));
}

/** What requests came to, and what the CRM has seen of them. */
async function seen(work: () => Promise<Answer | Answer[]>) {
  const [calls, opened] = [crm.calls.length, crm.connections];
  const answers = [await work()].flat();
  return {
    words: answers.map((answer) =>
      answer.kind === "answered" ? answer.response.head.status : `${answer.reason} at ${answer.stage}`
    ),
    ids: crm.calls.slice(calls).map(({ headers }) => headers["webhook-id"]),
    opened: crm.connections - opened,
  };
}

const nameOf = (response: ServerResponse) =>
  (response.socket as TLSSocket & { servername: string }).servername;

/** Answers the first request of each connection, and does something else at every later one. */
function thenAtLater(other: (response: ServerResponse) => void) {
  const known = new WeakSet<object>();
  return (response: ServerResponse): void => {
    const socket = response.socket as object;
    if (known.has(socket)) return other(response);
    known.add(socket);
    response.end("ok");
  };
}

test("what waits for a connection until its time is over says so, and is not sent", async () => {
  crm.answer = () => {};
  const { words, ids } = await seen(async () => {
    const hanging = Array.from({ length: shareAlone }, () => send({ timeoutMs: 3_000 }));
    // The second gets a connection at the last moment, which is not what its time went to.
    const waiting = [send({ timeoutMs: 1_000, id: "waiting" }), send({ timeoutMs: 3_001, id: "late" })];
    return [...await Promise.all(waiting), ...await Promise.all(hanging)];
  });
  assert.deepEqual(words.slice(0, 2), ["ETIMEDOUT at waiting", "ETIMEDOUT at waiting"]);
  assert.deepEqual(new Set(words.slice(2)), new Set(["ETIMEDOUT at sent"]));
  assert.ok(!ids.includes("waiting"));
});

test("a tenant's hook that hangs holds up no other tenant's at the same host", async () => {
  const count = 2 * connectionsPerHostMax;
  const held: ServerResponse[] = [];
  crm.answer = (response, { headers }) =>
    headers["webhook-id"] === "hangs" ? held.push(response) : response.end();
  const hanging = Array.from({ length: count }, () => send({ id: "hangs", timeoutMs: 60_000 }));
  await until(() => held.length === shareAlone);
  const { words, ids, opened } = await seen(async () => {
    const answers: Answer[] = [];
    for (let at = 0; at < 40; at += 1) answers.push(await send({ tenant: "birch", id: `birch${at}` }));
    return answers;
  });
  assert.deepEqual([words.length, new Set(words), opened], [40, new Set([200]), 1]);
  // Nothing of the first tenant's has moved in between.
  assert.ok(!ids.includes("hangs"));
  for (let at = 0; at < count; at += 1) (await until(() => held[at])).end();
  await Promise.all(hanging);
});

test("a connection is for one host name, whose certificate was shown, and for no other", async () => {
  const names: string[] = [];
  crm.answer = (response) => {
    names.push(nameOf(response));
    response.end();
  };
  const { words, opened } = await seen(async () => [
    await send(),
    await send({ hostname: "other.test" }),
    await send(),
    await send({ hostname: "elsewhere.test" }),
  ]);
  assert.deepEqual(words.slice(0, 3), [200, 200, 200]);
  assert.match(String(words[3]), /at handshake$/);
  assert.deepEqual([names, opened], [["crm.test", "other.test", "crm.test"], 3]);
});

test("a connection to an address that the name has no more carries nothing further", async () => {
  await send();
  const { words, ids } = await seen(() => send({ addresses: ["127.0.0.9"] }));
  assert.deepEqual([words, ids], [["ECONNREFUSED at connecting"], []]);
  await until(() => crm.open === 0);
});

test("a connection that leads elsewhere than it was sent is cut before the handshake", async () => {
  connections = openWebhookPool({ mayCall: (address) => address !== "127.0.0.1", ca: authority.pem });
  const { words, ids } = await seen(() => send());
  assert.deepEqual([words, ids], [["EADDRESSREFUSED at handshake"], []]);
});

test("a request under which a kept connection is closed is sent once more at once, recognizable", async () => {
  crm.answer = thenAtLater((response) => response.socket?.destroy());
  const { words, ids, opened } = await seen(async () => [await send({ id: "1" }), await send({ id: "2" })]);
  assert.deepEqual([words, ids, opened], [[200, 200], ["1", "2", "2"], 2]);
});

test("a request on a new connection is not sent again, nor one of whose answer a byte has come", async () => {
  crm.answer = (response) => response.socket?.destroy();
  const fresh = await seen(() => send());
  assert.deepEqual([fresh.words, fresh.ids.length], [["ECONNRESET at sent"], 1]);
  crm.answer = thenAtLater((response) => response.socket?.end("HTTP/1."));
  await send();
  const heard = await seen(() => send());
  assert.deepEqual([heard.words, heard.ids.length], [["ECONNRESET at sent"], 1]);
});
