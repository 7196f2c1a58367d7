/**
 * A bare node:http server of one body. There is no store, no routing but one comparison, no request id, no bound.
 *
 * With ALIKE it sends the headers that ours sends and writes a line a request as ours does, collected for 20 ms.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { readFileSync, write } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { listening } from "./listen.mjs";

const body = readFileSync(process.env.BODY_FILE);
const bare = { "Content-Type": "application/json", "Content-Length": body.byteLength };
const alike = {
  ...bare,
  "Access-Control-Allow-Origin": "*",
  "Cache-Control": "public, max-age=300",
  "ETag": '"AAAAAAAAAAAAAAAAAAAAAA"',
  "Vary": "Accept-Encoding",
  "X-Content-Type-Options": "nosniff",
};

let lines = [];
function log(request, startedMs) {
  if (lines.length === 0) setTimeout(flush, 20);
  const { remoteAddress } = request.socket;
  lines.push(JSON.stringify({
    time: new Date().toISOString(),
    level: "info",
    event: "request",
    request_id: request.id,
    surface: "subscription",
    method: request.method,
    route: "/api/plans",
    status: 200,
    duration_ms: Math.round((performance.now() - startedMs) * 100) / 100,
    bytes: body.byteLength,
    client: remoteAddress,
    key_id: null,
  }));
}
function flush() {
  const text = lines.map((line) => `${line}\n`).join("");
  lines = [];
  write(1, text, () => {});
}

const server = createServer((request, response) => {
  if (request.url !== "/api/plans") return void response.writeHead(404).end();
  if (process.env.ALIKE !== "1") return void response.writeHead(200, bare).end(body);
  const startedMs = performance.now();
  request.id = randomBytes(12).toString("hex");
  response.on("close", () => log(request, startedMs));
  response.writeHead(200, { ...alike, "X-Request-Id": request.id }).end(body);
});

server.listen(0, "127.0.0.1", () => listening(server.address().port));
