/** A bare node:http server that parses the JSON body and responds with 202, without a store, validation or a log. */

import { createServer } from "node:http";
import process from "node:process";

const answer = JSON.stringify({
  event_id: "0006a1b2c3d4e50001aaaaaaaabbbbbbbbbbbb",
  status: "accepted",
  received_at: "2026-09-03T00:00:00.000Z",
  source: "provider-1",
  flags: [],
});
const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(answer) };

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const lead = chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString());
    if (lead?.last_name === undefined) response.writeHead(404).end();
    else response.writeHead(202, headers).end(answer);
  });
});

server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  process.stdout.write(
    `${JSON.stringify({ event: "listening", surface: "intake", url })}\n{"event":"started"}\n`,
  );
});
process.on("SIGTERM", () => process.exit(0));
