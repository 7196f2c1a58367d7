/**
 * Runs the HTTP sink, a separate process that responds with 200 to every delivery and counts it. It parses as little as
 * possible, so that the benchmark measures the sender.
 */

import net, { type AddressInfo, type Socket } from "node:net";

const respond = (body: string) =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const okResponse = Buffer.from(respond("{}"));

const events = new Set<string>();
let requests = 0;
let firstNs = 0;
let fault = "";

/** Responds to a request; `head` is the text before the empty line. */
function respondTo(head: string, socket: Socket): void {
  const id = /^PUT \/v1\/events\/(\w+) HTTP\/1\.1\r\n/.exec(head)?.[1];
  if (id !== undefined) {
    firstNs ||= Number(process.hrtime.bigint());
    requests += 1;
    events.add(id);
    socket.write(okResponse);
  } else if (head.startsWith("GET /arrived ")) {
    socket.write(respond(JSON.stringify({ requests, distinct: events.size, firstNs, fault })));
  } else fault ||= `Not a delivery: ${head.split("\r\n")[0]}`;
}

const server = net.createServer((socket) => {
  let held: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("data", (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length > 0) {
      const headEnd = held.indexOf("\r\n\r\n");
      if (headEnd === -1) break;
      const head = held.toString("latin1", 0, headEnd);
      const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (held.length < end) break;
      respondTo(head, socket);
      held = held.subarray(end);
    }
  });
  // A sender that is killed may reset the connection.
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ event: "listening", surface: "sink", url: `http://127.0.0.1:${port}` }));
  console.log('{"event":"started"}');
});
