/**
 * The honest client beside an attack, a process of its own: posts leads at a fixed pace from many addresses, every
 * second one over a new connection, and tells how long each answer took and what failed. Started by `attacks.ts`.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import http, { type RequestOptions } from "node:http";
import https from "node:https";
import { quantile } from "./stats.ts";

/** What the client is told. */
export interface HonestTask {
  readonly url: string;
  readonly caFile: string | null;
  readonly perSecond: number;
  readonly seconds: number;
  readonly bodiesFile: string;
  readonly keysFile: string;
  /** Of the Idempotency-Keys; no other run has it. */
  readonly prefix: string;
}

/** What it found. */
export interface HonestResult {
  readonly posted: number;
  /** Not 202, by what came instead. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const task: HonestTask = JSON.parse(process.env.HONEST ?? "");
const { protocol, hostname, port, pathname } = new URL(task.url);
const library = protocol === "https:" ? https : http;
const tls = task.caFile === null ? {} : { ca: readFileSync(task.caFile), servername: "localhost" };
const lines = (file: string) => readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
const bodies = lines(task.bodiesFile);
const keys = lines(task.keysFile);
/** As many partners, none of them near a limit of its address. */
const addresses = Array.from({ length: 64 }, (_, index) => `127.2.0.${index + 1}`);
const kept = addresses.map(() => new library.Agent({ keepAlive: true, maxSockets: 1 }));
/** The time-out that partners are told to use. */
const timeoutMs = 20_000;

const tookMs: number[] = [];
const failures: Record<string, number> = {};

function post(number: number): Promise<void> {
  const place = number % addresses.length;
  const isNew = Math.floor(number / addresses.length) % 2 === 0;
  const options: RequestOptions = {
    ...tls,
    method: "POST",
    host: hostname,
    port,
    path: pathname,
    localAddress: addresses[place],
    agent: isNew ? false : kept[place],
    timeout: timeoutMs,
    headers: {
      "Content-Type": "application/json",
      "X-API-Key": keys[number % keys.length],
      "Idempotency-Key": `provider:lead:${task.prefix}-${number}`,
    },
  };
  const startMs = performance.now();
  return new Promise((settle) => {
    const fail = (reason: string) => {
      failures[reason] = (failures[reason] ?? 0) + 1;
      tookMs.push(performance.now() - startMs);
      settle();
    };
    const request = library.request(options, (response) => {
      response.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
      response.resume().on("end", () => {
        if (response.statusCode !== 202) return fail(String(response.statusCode));
        tookMs.push(performance.now() - startMs);
        settle();
      });
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 20 s")));
    request.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    request.end(bodies[number % bodies.length]);
  });
}

const startMs = performance.now();
const total = task.perSecond * task.seconds;
const underWay: Promise<void>[] = [];
while (underWay.length < total) {
  const due = Math.min(total, Math.floor((performance.now() - startMs) / 1_000 * task.perSecond) + 1);
  while (underWay.length < due) underWay.push(post(underWay.length));
  await new Promise((settle) => setTimeout(settle, 1));
}
await Promise.all(underWay);
const sorted = Float64Array.from(tookMs).sort();
const result: HonestResult = {
  posted: total,
  failures,
  p50Ms: quantile(sorted, 0.5),
  p99Ms: quantile(sorted, 0.99),
  maxMs: quantile(sorted, 1),
};
process.stdout.write(JSON.stringify(result));
process.exit(0);
