/**
 * The HTTP sink, a process of its own: says 200 to every request, at once, and remembers when each event came
 * for the first time. Started by `sink.ts`; nothing but a split of the bytes stands behind it, so that what is
 * measured is who delivers.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo, type Socket } from "node:net";
import tls from "node:tls";
import { splitMessages } from "./http_messages.ts";

const answer = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
);
const idOfRequest = /^PUT \/v1\/events\/(\w+) HTTP\/1\.1\r\n/;

/** The first arrival of each event, in nanoseconds of the machine's monotonic clock. */
const arrivals = new Map<string, number>();
let requests = 0;
let bodyBytes = 0;
let firstNs = 0;
let lastNs = 0;
let connections = 0;
let fault = "";

function serve(socket: Socket): void {
  connections += 1;
  socket.setNoDelay(true);
  const split = splitMessages((head, body) => {
    const id = idOfRequest.exec(head)?.[1];
    if (id === undefined) {
      throw new Error(`Not a delivery: ${head.split("\r\n")[0]}`);
    }
    lastNs = Number(process.hrtime.bigint());
    if (requests === 0) firstNs = lastNs;
    requests += 1;
    bodyBytes += body.length;
    if (!arrivals.has(id)) arrivals.set(id, lastNs);
    socket.write(answer);
  });
  socket.on("data", (chunk: Buffer) => {
    try {
      split(chunk);
    } catch (error) {
      fault ||= String(error);
      socket.destroy();
    }
  });
  // Whoever delivers may be killed.
  socket.on("error", () => socket.destroy());
}

function control(request: http.IncomingMessage, response: http.ServerResponse): void {
  if (request.url === "/arrivals") {
    for (const [id, ns] of arrivals) response.write(`${id} ${ns}\n`);
    response.end();
  } else {
    const distinct = arrivals.size;
    response.end(
      JSON.stringify({
        requests,
        distinct,
        bodyBytes,
        firstNs,
        lastNs,
        connections,
        fault,
      }),
    );
  }
}

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  return (server.address() as AddressInfo).port;
}

const { SINK_CA, SINK_CERT, SINK_KEY } = process.env;
const server = SINK_CERT === undefined ? net.createServer(serve) : tls.createServer({
  ca: readFileSync(SINK_CA as string),
  cert: readFileSync(SINK_CERT),
  key: readFileSync(SINK_KEY as string),
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: "TLSv1.2",
}, serve);
const port = await listen(server);
const controlPort = await listen(http.createServer(control));
process.stdout.write(`${JSON.stringify({ port, controlPort })}\n`);
