/**
 * What a request costs three HTTP clients: ours (`src/http/outbound`), undici and node:https. Each is a process of its
 * own that sends PUTs of a lead over mutual TLS to one sink, 64 in flight on kept connections; they take turns, and
 * what counts is their processor time. After `npm ci --prefix scripts/bench`, from the top folder, with Node or Deno:
 *
 *     node scripts/bench/outbound.ts [rounds]
 *
 * @module
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import tls from "node:tls";
import { fileURLToPath } from "node:url";
import { ConnectionPool } from "../../src/http/outbound/connection_pool.ts";
import { ensureDevCertificates } from "../dev_certificates.ts";
import { startSink } from "./sink.ts";
import { digits, type Figure, figure, ratio, withSpread } from "./stats.ts";

const inFlight = 64;
const requestsPerRound = 20_000;
const timeoutMs = 10_000;

/** Sends one request and resolves with the answer's body; rejects without one. */
type Put = (path: string, body: string) => Promise<string>;

interface Target {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const clients: Readonly<Record<string, (target: Target) => Put | Promise<Put>>> = {
  "ours": (target) => {
    const secureContext = tls.createSecureContext(target);
    const pool = new ConnectionPool({
      connectionsMax: inFlight,
      timeoutMs,
      opened: "secureConnect",
      connect: () => tls.connect({ ...target, secureContext, servername: "", ALPNProtocols: ["http/1.1"] }),
    });
    const head = `Host: ${target.host}:${target.port}\r\nConnection: keep-alive\r\n` +
      "Content-Type: application/json\r\nContent-Length: ";
    return async (path, body) => {
      const answer = await pool.exchange(
        `PUT ${path} HTTP/1.1\r\n${head}${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
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
};

const headers = { "Content-Type": "application/json" };

async function undiciPool({ host, port, ...connect }: Target) {
  const name = "undici";
  const { Pool } = await import(name);
  return new Pool(`https://${host}:${port}`, {
    connect,
    connections: inFlight,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** A lead of about a kilobyte. */
const body = JSON.stringify({ event_id: "e".repeat(20), lead: { notes: "A roof that leaks. ".repeat(50) } });

async function runClient(name: string, target: Target): Promise<void> {
  const put = await (clients[name] as (target: Target) => Put | Promise<Put>)(target);
  let left = 0;
  const sendAll = async () => {
    while (left-- > 0) {
      if (await put(`/v1/events/event${left}`, body) !== "{}") throw new Error("Not the answer");
    }
  };
  process.on("message", async (requests: number) => {
    left = requests;
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: inFlight }, sendAll));
    const { user, system } = process.cpuUsage(before);
    process.send?.((user + system) / requests);
  });
  process.send?.("ready");
}

async function round(client: ChildProcess, requests: number): Promise<number> {
  client.send(requests);
  return (await once(client, "message"))[0] as number;
}

async function main(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-outbound-"));
  const certificates = ensureDevCertificates(folder);
  if (certificates.kind !== "ready") throw new Error(certificates.message);
  const sink = await startSink(certificates);
  const started: ChildProcess[] = [];
  try {
    const file = (path: string) => readFileSync(path, "utf8");
    const { hostname: host, port } = new URL(sink.url);
    const target: Target = {
      host,
      port: Number(port),
      ca: file(certificates.caFile),
      cert: file(certificates.clientCertFile),
      key: file(certificates.clientKeyFile),
    };
    const names = Object.keys(clients);
    for (const name of names) {
      const client = fork(fileURLToPath(import.meta.url), ["client", name, JSON.stringify(target)]);
      started.push(client);
      await once(client, "message");
      await round(client, requestsPerRound);
    }
    const samples: number[][] = names.map(() => []);
    for (let turn = 0; turn < rounds; turn++) {
      for (const [index, client] of started.entries()) {
        samples[index]?.push(await round(client, requestsPerRound));
      }
    }
    const [ours, ...others] = samples.map(figure) as [Figure, ...Figure[]];
    console.log(`${names[0]}: ${withSpread(ours)} µs`);
    for (const [index, other] of others.entries()) {
      const times = digits(ratio(other, ours).median);
      console.log(`${names[index + 1]}: ${withSpread(other)} µs, ${times} times ours`);
    }
  } finally {
    for (const client of started) client.kill();
    await sink.stop();
    rmSync(folder, { recursive: true });
  }
}

const [mode, name, target] = process.argv.slice(2);
if (mode === "client") await runClient(String(name), JSON.parse(String(target)));
else await main(Number(mode ?? 7));
