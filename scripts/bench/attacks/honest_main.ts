/**
 * The honest client beside an attack, a process of its own: posts leads at a fixed pace from many addresses, every
 * second one over a new connection, and tells how long each answer took and what failed.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import https, { type RequestOptions } from "node:https";
import { answer, keepPace, readLines, readTask } from "../load/client.ts";
import type { PacerTask } from "../load/pacer.ts";
import { quantile } from "../stats.ts";

/** What the client is told. */
export interface HonestTask extends PacerTask {
  readonly caFile: string;
}

/** What it found. */
export interface HonestResult {
  /** Not 202, by what came instead. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const task = readTask<HonestTask>();
const { hostname, port, pathname } = new URL(task.url);
const bodies = readLines(task.bodiesFile);
const keys = readLines(task.keysFile);
/** As many partners, none of them near a limit of its address. */
const addresses = Array.from({ length: 64 }, (_, index) => `127.2.0.${index + 1}`);
const kept = addresses.map(() => new https.Agent({ keepAlive: true, maxSockets: 1 }));
const ca = readFileSync(task.caFile);
/** The time-out that partners are told to use. */
const timeoutMs = 20_000;

const tookMs: number[] = [];
const failures: Record<string, number> = {};

async function post(number: number): Promise<void> {
  const place = number % addresses.length;
  const isNew = Math.floor(number / addresses.length) % 2 === 0;
  const options: RequestOptions = {
    ca,
    servername: "localhost",
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
  const came = await new Promise<string>((settle) => {
    const fail = (error: NodeJS.ErrnoException) => settle(error.code ?? error.message);
    const request = https.request(options, (response) => {
      response.on("error", fail).resume().on("end", () => settle(String(response.statusCode)));
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 20 s")));
    request.on("error", fail).end(bodies[number % bodies.length]);
  });
  tookMs.push(performance.now() - startMs);
  if (came !== "202") failures[came] = (failures[came] ?? 0) + 1;
}

const underWay: Promise<void>[] = [];
await keepPace(task, (number) => underWay.push(post(number)));
await Promise.all(underWay);
const sorted = Float64Array.from(tookMs).sort();
const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((q) => quantile(sorted, q)) as [number, number, number];
answer({ failures, p50Ms, p99Ms, maxMs } satisfies HonestResult);
