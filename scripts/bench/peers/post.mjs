/**
 * How the peers send an event: the same request as ours, over kept-alive connections, with node:http or undici.
 * They are spared a time limit for each request.
 *
 * @module
 */

import http from "node:http";
import { createRequire } from "node:module";
import process from "node:process";

// Not by import: the type check of the repository would want this package's dependencies installed.
const require = createRequire(import.meta.url);

const url = new URL(process.env.ACTIONS_URL ?? "http://127.0.0.1");
const connections = Number(process.env.CONNECTIONS ?? process.env.CONCURRENCY);
const headersOf = (body) => ({
  "Content-Type": "application/json",
  "Content-Length": Buffer.byteLength(body),
});

function openHttp() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections, scheduling: "lifo" });
  const options = { agent, method: "PUT", host: url.hostname, port: url.port };
  return ({ id, body }) =>
    new Promise((settle, reject) => {
      const request = http.request({ ...options, path: `/v1/events/${id}`, headers: headersOf(body) });
      request.on("error", reject);
      request.on("response", (response) => {
        response.resume();
        response.on("error", reject);
        response.on("end", () => {
          if (response.statusCode === 200) settle(undefined);
          else reject(new Error(`status ${response.statusCode}`));
        });
      });
      request.end(body);
    });
}

function openUndici() {
  const { Pool } = require("undici");
  // One request at a time on a connection, as everybody here.
  const pool = new Pool(url.origin, { connections, pipelining: 1 });
  return async ({ id, body }) => {
    const options = { method: "PUT", path: `/v1/events/${id}`, headers: headersOf(body), body };
    const answer = await pool.request(options);
    await answer.body.dump();
    if (answer.statusCode !== 200) {
      throw new Error(`status ${answer.statusCode}`);
    }
  };
}

/** Sends one event; rejects unless the answer is 200. */
export const post = process.env.CLIENT === "undici" ? openUndici() : openHttp();
