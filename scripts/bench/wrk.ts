/**
 * The client: wrk, with a script that makes every request a lead of its own.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./children.ts";

/** What wrk posts. */
export interface Load {
  readonly bodiesFile: string;
  readonly keysFile: string;
}

/** What a run of wrk found. */
export interface LoadResult {
  /** Answers received, none of which was a 4xx or 5xx. */
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
}

const scriptFile = fileURLToPath(new URL("lead.lua", import.meta.url));

/**
 * Gets one address for so many seconds over so many connections, each with one request in flight; the answers a
 * second.
 *
 * @throws {Error} when an answer was an error or a connection failed
 */
export async function runGets(
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<number> {
  const options = ["--threads=1", `--connections=${connections}`, `--duration=${seconds}s`, "--timeout=10s"];
  const { stdout } = await run("wrk", [...options, url], { timeoutMs: (seconds + 15) * 1_000 });
  const perSecond = Number(/^Requests\/sec:\s+([\d.]+)/m.exec(stdout)?.[1]);
  if (!(perSecond > 0) || /Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`Not every request was answered:\n${stdout}`);
  }
  return perSecond;
}

/** wrk's version, or `undefined` when it is not installed. */
export async function wrkVersion(): Promise<string | undefined> {
  // It exits with 1 after `--version`, too.
  const said = await run("wrk", ["--version"], { timeoutMs: 5_000 }).then(({ stdout }) => stdout, String);
  return /^(wrk .*?) Copyright/m.exec(said)?.[1];
}

/** Writes the files that wrk reads the leads and keys from. */
export function writeLoad(folder: string, bodies: readonly string[], keys: readonly string[]): Load {
  const load = { bodiesFile: join(folder, "bodies.jsonl"), keysFile: join(folder, "keys.txt") };
  writeFileSync(load.bodiesFile, bodies.map((body) => `${body}\n`).join(""));
  writeFileSync(load.keysFile, keys.map((key) => `${key}\n`).join(""), { mode: 0o600 });
  return load;
}

/**
 * Posts leads for so many seconds over so many connections, each with one request in flight.
 *
 * One thread: on two cores a second one only takes time from the server.
 *
 * @throws {Error} when an answer was an error or a connection failed
 */
export async function runWrk(
  url: string,
  { load, connections, seconds }: { load: Load; connections: number; seconds: number },
): Promise<LoadResult> {
  const options = ["--threads=1", `--connections=${connections}`, `--duration=${seconds}s`, "--timeout=10s"];
  const script = [`--script=${scriptFile}`, url, "--", load.bodiesFile, load.keysFile];
  const prefix = randomBytes(5).toString("hex");
  const timeoutMs = (seconds + 15) * 1_000;
  const { stdout } = await run("wrk", [...options, ...script, prefix], { timeoutMs });
  const line = stdout.split("\n").find((line) => line.startsWith("RESULT "));
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  const result = JSON.parse(line.slice(7)) as Omit<LoadResult, "perSecond"> & {
    durationUs: number;
    refused: number;
    broken: number;
  };
  if (result.refused + result.broken > 0 || result.requests === 0) {
    throw new Error(`Not every request was accepted: ${line}`);
  }
  const { requests, p50Us, p90Us, p99Us } = result;
  return { requests, perSecond: requests / (result.durationUs / 1e6), p50Us, p90Us, p99Us };
}
