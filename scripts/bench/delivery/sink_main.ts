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
let firstNs = 0;
let lastNs = 0;
let fault = "";

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  const split = splitMessages((head) => {
    const id = idOfRequest.exec(head)?.[1];
    // What the delivery asks of each connection first, and now and then.
    if (head.startsWith("GET /healthz ")) return void socket.write(answer);
    if (id === undefined) {
      throw new Error(`Not a delivery: ${head.split("\r\n")[0]}`);
    }
    lastNs = Number(process.hrtime.bigint());
    if (requests === 0) firstNs = lastNs;
    requests += 1;
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
  const counts = { requests, distinct: arrivals.size, firstNs, lastNs, fault };
  response.end(JSON.stringify(request.url === "/arrivals" ? [...arrivals] : counts));
}

/** Says where it listens as our service does. */
async function listen(server: net.Server, surface: string, protocol: string): Promise<void> {
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ event: "listening", surface, url: `${protocol}://127.0.0.1:${port}` }));
}

const { SINK_CA, SINK_CERT, SINK_KEY } = process.env;
const isTls = SINK_CERT !== undefined;
const server = isTls
  ? tls.createServer({
    ca: readFileSync(SINK_CA as string),
    cert: readFileSync(SINK_CERT),
    key: readFileSync(SINK_KEY as string),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
  }, serve)
  : net.createServer(serve);
await listen(server, "sink", isTls ? "https" : "http");
await listen(http.createServer(control), "control", "http");
console.log('{"event":"started"}');
