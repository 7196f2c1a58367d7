/**
 * Row 6, its second line: from the start of the process to its first 202, on a migrated database.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { stop } from "../children.ts";
import type { Bench } from "../measure.ts";
import type { RowResult } from "../report.ts";
import { digits, figure } from "../stats.ts";
import { spawnOurs } from "../targets.ts";

const timeoutMs = 20_000;
/** Between tries; the figure is too high by half of it on average. */
const pollMs = 2;

/** Measures the row when it is asked for. */
export async function measureStart(bench: Bench): Promise<RowResult[]> {
  const { options, stage } = bench;
  if (!options.rows.has(6)) return [];
  const database = await stage.createDatabase();
  const seconds: number[] = [];
  const starts = options.quick ? 3 : 2 * options.rounds + 1;
  for (let start = 0; start < starts; start += 1) {
    seconds.push(await startOnce(bench, database.url, start));
    bench.say(`start ${start + 1}: first 202 after ${digits(seconds.at(-1) ?? 0)} s`);
    await database.quiet();
  }
  await database.drop();
  return [{
    row: 6,
    what: "start of the process to its first 202, migrated database",
    value: figure(seconds),
    unit: "s",
    target: { atMost: 1 },
    judged: "median",
    figures: {},
    notes: [],
  }];
}

async function startOnce(bench: Bench, databaseUrl: string, start: number): Promise<number> {
  const headers = {
    "Content-Type": "application/json",
    "X-API-Key": bench.stage.keys[0] as string,
    "Idempotency-Key": `provider:start-${start}`,
  };
  const startedAtMs = performance.now();
  const { child, base, logFile } = await spawnOurs({ databaseUrl });
  try {
    while (await post(`${base}/v1/intake`, headers, bench.bodies[0] as string) !== 202) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (hasEnded || performance.now() - startedAtMs > timeoutMs) {
        throw new Error(`No 202 came:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
      }
      await delay(pollMs);
    }
    return (performance.now() - startedAtMs) / 1_000;
  } finally {
    await stop(child);
  }
}

/** The status of the answer; 0 when there was none. */
function post(url: string, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((settle) => {
    const sent = request(url, { method: "POST", headers, agent: false }, (response) => {
      response.resume();
      response.once("end", () => settle(response.statusCode ?? 0));
    });
    sent.once("error", () => settle(0));
    sent.end(body);
  });
}
