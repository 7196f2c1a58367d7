/**
 * The paced client, a process of its own: posts leads at a fixed pace, whether or not earlier ones were answered
 * (open loop), and tells when each acknowledgement came. Started by `pacer.ts`.
 *
 * @module
 */

import net, { type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { answer, keepPace, readLines, readTask } from "./client.ts";
import { splitMessages } from "./http_messages.ts";
import type { Acknowledged, Paced, PacerTask } from "./pacer.ts";

const task = readTask<PacerTask>();
const { hostname, port, host, pathname } = new URL(task.url);
const bodies = readLines(task.bodiesFile);
/** Connections that are opened ahead; more are opened when all of them wait for an answer. */
const openedAhead = 32;
/** After the last request. */
const answersMaxMs = 15_000;

const nowNs = () => Number(process.hrtime.bigint());
const heads = readLines(task.keysFile).map((key) =>
  `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nX-API-Key: ${key}\r\n`
);

/** A connection with at most one request in flight. */
interface Lane {
  readonly socket: Socket;
  sent: { readonly dueNs: number; readonly sentNs: number } | null;
}

/** The one that has waited longest is next: the busy ones are not always the same few, and of the same process. */
const free: Lane[] = [];
const leads: Acknowledged[] = [];
let refused = 0;
let posted = 0;

function openLane(): Lane {
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  const lane: Lane = { socket, sent: null };
  const split = splitMessages((head, body) => {
    const ackNs = nowNs();
    const id = /"event_id":"(\w+)"/.exec(Buffer.from(body).toString("latin1"))?.[1];
    if (head.startsWith("HTTP/1.1 202 ") && id !== undefined && lane.sent !== null) {
      leads.push({ id, ...lane.sent, ackNs });
    } else if (task.mayRefuse && /^HTTP\/1.1 (429|503) /.test(head)) refused += 1;
    else throw new Error(`${head.split("\r\n")[0]} ${body}`);
    lane.sent = null;
    free.push(lane);
  });
  socket.on("data", split);
  socket.on("close", () => {
    if (lane.sent !== null) throw new Error("A connection was closed before the answer");
    // One that is idle may be closed by the server.
    const index = free.indexOf(lane);
    if (index !== -1) free.splice(index, 1);
  });
  return lane;
}

function post(number: number, dueNs: number): void {
  const body = bodies[number % bodies.length] as string;
  const lane = free.shift() ?? openLane();
  lane.sent = { dueNs, sentNs: nowNs() };
  posted += 1;
  lane.socket.write(
    `${heads[number % heads.length]}Idempotency-Key: provider:lead:${task.prefix}-${number}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

for (let index = 0; index < openedAhead; index += 1) {
  const lane = openLane();
  lane.socket.once("connect", () => free.push(lane));
}
await delay(300);
const startNs = nowNs();
await keepPace(task, post);
const deadlineNs = nowNs() + answersMaxMs * 1e6;
const open = () => posted - refused - leads.length;
while (open() > 0 && nowNs() < deadlineNs) await delay(5);
if (open() > 0) throw new Error(`${open()} requests were not answered`);
answer({ startNs, endNs: leads.at(-1)?.ackNs ?? startNs, leads, refused } satisfies Paced);
