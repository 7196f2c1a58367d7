/**
 * Sends PUTs of a lead over mutual TLS to the sink with one of five HTTP clients, 64 in flight on kept connections or as
 * streams of one, and tells its processor time for each: a process of its own, started by `suites/outbound.ts`.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import process from "node:process";
import tls from "node:tls";
import type { Answer } from "../../../src/http/outbound/client_connection.ts";
import { ConnectionPool } from "../../../src/http/outbound/connection_pool.ts";
import type { DevCertificates } from "../../dev_certificates.ts";
import { answer, readTask } from "../load/client.ts";

/** What it is told. */
export interface OutboundTask {
  readonly client: string;
  readonly url: string;
  readonly certificates: DevCertificates;
  /** As many again, before them, are not counted. */
  readonly requests: number;
}

const inFlight = 64;
const timeoutMs = 10_000;
const headers = { "Content-Type": "application/json" };

/** Sends one request and resolves with the answer's body; rejects without one. */
type Put = (path: string, body: string) => Promise<string>;

/** Where to send, and the client's certificate. */
interface Target extends Record<"host" | "ca" | "cert" | "key", string> {
  readonly port: number;
}

const clients: Readonly<Record<string, (target: Target) => Put | Promise<Put>>> = {
  "ours": (target) => {
    const secureContext = tls.createSecureContext(target);
    const pool = new ConnectionPool({
      connectionsMax: inFlight,
      timeoutMs,
      opened: "secureConnect",
      connect: (onread) => {
        const alpn = { ALPNProtocols: ["http/1.1"] };
        return tls.connect(Object.assign({ onread }, { ...target, secureContext, servername: "", ...alpn }));
      },
    });
    const head = `Host: ${target.host}:${target.port}\r\nConnection: keep-alive\r\n` +
      "Content-Type: application/json\r\nContent-Length: ";
    return async (path, body) => {
      const request = `PUT ${path} HTTP/1.1\r\n${head}${Buffer.byteLength(body)}\r\n\r\n${body}`;
      const answer = await new Promise<Answer>((settle) => pool.send(request, settle));
      if (answer.kind === "failed") throw new Error(answer.reason);
      return answer.response.body.toString("utf8");
    };
  },
  "undici request": async (target) => {
    const pool = await undiciPool(target);
    return async (path, body) => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      const answer = await pool.request({ path, method: "PUT", headers, body, signal: late.signal });
      const text = await answer.body.text();
      clearTimeout(timer);
      return text;
    };
  },
  "undici dispatch": async (target) => {
    const pool = await undiciPool(target);
    return (path, body) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("ETIMEDOUT")), timeoutMs);
        let text = "";
        pool.dispatch({ path, method: "PUT", headers, body }, {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData(_: unknown, chunk: Buffer) {
            text += chunk.toString("utf8");
          },
          onResponseEnd() {
            clearTimeout(timer);
            resolve(text);
          },
          onResponseError(_: unknown, error: Error) {
            clearTimeout(timer);
            reject(error);
          },
        });
      });
  },
  "node:https": (target) => {
    const agent = new https.Agent({ ...target, keepAlive: true, maxSockets: inFlight });
    return (path, body) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => request.destroy(new Error("ETIMEDOUT")), timeoutMs);
        const length = { "Content-Length": Buffer.byteLength(body) };
        const { host, port } = target;
        const options = { agent, host, port, path, method: "PUT", headers: { ...headers, ...length } };
        const request = https.request(options, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("end", () => {
            clearTimeout(timer);
            resolve(text);
          });
        }).on("error", reject);
        request.end(body);
      });
  },
  "node:http2": ({ host, port, ...given }) => {
    const session = http2.connect(`https://${host}:${port}`, given);
    // It lets the process end.
    session.unref();
    return (path, body) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":method": "PUT", ":path": path, ...headers });
        const timer = setTimeout(() => stream.destroy(new Error("ETIMEDOUT")), timeoutMs);
        let text = "";
        stream.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("end", () => {
          clearTimeout(timer);
          resolve(text);
        }).on("error", reject);
        stream.end(body);
      });
  },
};

async function undiciPool({ host, port, ...connect }: Target) {
  const name = "undici";
  const { Pool } = await import(name);
  return new Pool(`https://${host}:${port}`, {
    connect,
    connections: inFlight,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** A lead of about a kilobyte. */
const body = JSON.stringify({ event_id: "e".repeat(20), lead: { notes: "A roof that leaks. ".repeat(50) } });

const task = readTask<OutboundTask>();
const { hostname: host, port } = new URL(task.url);
const { caFile, clientCertFile, clientKeyFile } = task.certificates;
const [ca, cert, key] = [caFile, clientCertFile, clientKeyFile].map((file) => readFileSync(file, "utf8")) as [
  string,
  string,
  string,
];
const put = await clients[task.client]?.({ host, port: Number(port), ca, cert, key }) as Put;

async function send(): Promise<number> {
  let left = task.requests;
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (left-- > 0) {
      if (await put(`/v1/events/event${left}`, body) !== "{}") throw new Error("Not the answer");
    }
  }));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / task.requests;
}

await send();
answer(await send());
