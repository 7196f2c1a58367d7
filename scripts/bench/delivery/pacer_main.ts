/**
 * The paced client, a process of its own: posts leads at a fixed pace, whether or not earlier ones were answered
 * (open loop), and tells when each acknowledgement came. Started by `offer.ts`.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import net, { type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "../load/wrk.ts";
import { splitMessages } from "./http_messages.ts";

/** What it is told to do. */
export interface PacerTask extends Load {
  readonly url: string;
  readonly perSecond: number;
  readonly seconds: number;
  /** Of the Idempotency-Keys; no other run has it. */
  readonly prefix: string;
}

/** A lead that was answered with 202; times in nanoseconds of the machine's monotonic clock. */
interface Acknowledged {
  readonly id: string;
  /** When it should have been sent. */
  readonly dueNs: number;
  readonly sentNs: number;
  readonly ackNs: number;
}

/** What it answers. */
export interface Paced {
  readonly startNs: number;
  /** Of the last answer. */
  readonly endNs: number;
  /** In the order of their answers. */
  readonly leads: readonly Acknowledged[];
}

const readLines = (file: string) => readFileSync(file, "utf8").split("\n").filter((line) => line !== "");

const task: PacerTask = JSON.parse(process.env.TASK ?? "");
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

const free: Lane[] = [];
const leads: Acknowledged[] = [];
let posted = 0;

function openLane(): Lane {
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  const lane: Lane = { socket, sent: null };
  const split = splitMessages((head, body) => {
    const ackNs = nowNs();
    const id = /"event_id":"(\w+)"/.exec(Buffer.from(body).toString("latin1"))?.[1];
    if (head.startsWith("HTTP/1.1 202 ") && id !== undefined && lane.sent !== null) {
      leads.push({ id, ...lane.sent, ackNs });
    } else throw new Error(`${head.split("\r\n")[0]} ${body}`);
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
const gapNs = 1e9 / task.perSecond;
const total = task.perSecond * task.seconds;
while (posted < total) {
  const due = Math.min(total, Math.floor((nowNs() - startNs) / gapNs) + 1);
  for (let number = posted; number < due; number += 1) post(number, startNs + number * gapNs);
  // Not before the next one is due, but no less than the 1 ms that a timer takes.
  await delay(Math.max(1, (startNs + posted * gapNs - nowNs()) / 1e6));
}
const deadlineNs = nowNs() + answersMaxMs * 1e6;
while (leads.length < posted && nowNs() < deadlineNs) await delay(5);
if (leads.length < posted) throw new Error(`${posted - leads.length} requests were not answered`);
const found: Paced = { startNs, endNs: leads.at(-1)?.ackNs ?? startNs, leads };
process.stdout.write(JSON.stringify(found), () => process.exit(0));
