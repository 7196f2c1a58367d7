/**
 * The paced client, a process of its own: posts leads at a fixed pace, whether or not earlier ones were answered
 * (open loop), and writes down when each acknowledgement came. Started by `pacer.ts`.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import net, { type Socket } from "node:net";
import { splitMessages } from "./http_messages.ts";
import type { PacerTask } from "./pacer.ts";

const { url, perSecond, seconds, bodiesFile, keysFile, prefix, outFile }: PacerTask = JSON.parse(
  process.env.PACER ?? "",
);
const { hostname, port, host, pathname } = new URL(url);
const readLines = (file: string) => readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
const keys = readLines(keysFile);
const bodies = readLines(bodiesFile);
const total = perSecond * seconds;
/** Connections that are opened ahead; more are opened when all of them wait for an answer. */
const openedAhead = 32;
/** After the last request. */
const answersMaxMs = 15_000;

const nowNs = () => Number(process.hrtime.bigint());
const heads = keys.map((key) =>
  `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nX-API-Key: ${key}\r\n`
);

/** A request in flight. */
interface Sent {
  readonly dueNs: number;
  readonly sentNs: number;
}

/** A connection with at most one request in flight. */
interface Lane {
  readonly socket: Socket;
  sent: Sent | null;
}

const free: Lane[] = [];
const out: string[] = [];
const lanes = new Set<Lane>();
let answered = 0;
let fault = "";

function openLane(): Lane {
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  const lane: Lane = { socket, sent: null };
  lanes.add(lane);
  const split = splitMessages((head, body) => {
    const ackNs = nowNs();
    const { dueNs, sentNs } = lane.sent as Sent;
    lane.sent = null;
    free.push(lane);
    answered += 1;
    if (!head.startsWith("HTTP/1.1 202 ")) {
      fault ||= `${head.split("\r\n")[0]} ${body}`;
    } else {
      const id = /"event_id":"(\w+)"/.exec(Buffer.from(body).toString("latin1"))
        ?.[1];
      out.push(`${id} ${dueNs} ${sentNs} ${ackNs}`);
    }
  });
  socket.on("data", split);
  socket.on("error", (error) => fault ||= error.message);
  socket.on("close", () => {
    if (lane.sent !== null) {
      fault ||= "a connection was closed before the answer";
    }
    lanes.delete(lane);
    // One that is idle may be closed by the server.
    const index = free.indexOf(lane);
    if (index !== -1) free.splice(index, 1);
  });
  return lane;
}

function post(number: number, dueNs: number): void {
  const body = bodies[number % bodies.length] as string;
  const lane = free.pop() ?? openLane();
  lane.sent = { dueNs, sentNs: nowNs() };
  lane.socket.write(
    `${heads[number % heads.length]}Idempotency-Key: provider:lead:${prefix}-${number}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

for (let index = 0; index < openedAhead; index += 1) {
  const lane = openLane();
  lane.socket.once("connect", () => free.push(lane));
}
await new Promise((settle) => setTimeout(settle, 300));

const startNs = nowNs();
const gapNs = 1e9 / perSecond;
let posted = 0;
while (posted < total && fault === "") {
  const dueCount = Math.min(total, Math.floor((nowNs() - startNs) / gapNs) + 1);
  for (; posted < dueCount; posted += 1) post(posted, startNs + posted * gapNs);
  // Not before the next one is due, but no less than the 1 ms that a timer takes.
  const waitMs = (startNs + posted * gapNs - nowNs()) / 1e6;
  await new Promise((settle) => setTimeout(settle, Math.max(1, waitMs)));
}
const deadlineNs = nowNs() + answersMaxMs * 1e6;
while (answered < posted && fault === "" && nowNs() < deadlineNs) {
  await new Promise((settle) => setTimeout(settle, 5));
}
writeFileSync(outFile, out.join("\n"));
if (fault === "" && answered < posted) {
  fault = `${posted - answered} requests were not answered`;
}
process.stdout.write(JSON.stringify({ startNs, connections: lanes.size, fault }));
process.exit(fault === "" ? 0 : 1);
