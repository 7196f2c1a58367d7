/**
 * wrk as the client: it gets one address over and over, or posts leads, each of its own.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder, run } from "../programs.ts";

/** Where clients find leads and keys, one a line. */
export interface Load {
  readonly bodiesFile: string;
  readonly keysFile: string;
}

/** How long it works, over how many connections with one request in flight on each. */
export interface WrkOptions {
  readonly connections: number;
  readonly seconds: number;
}

/** What came of gets. */
interface Gets {
  /** Answers, none of which was an error. */
  readonly requests: number;
  readonly perSecond: number;
}

/** What came of posts. */
export interface Posts extends Gets {
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of wrk itself. */
  readonly processorUs: number;
}

const scriptFile = fileURLToPath(new URL("lead.lua", import.meta.url));

/** wrk's version. It exits with 1 after `--version`, too. */
export async function wrkVersion(): Promise<string> {
  const said = await run("wrk", ["--version"], { timeoutMs: 5_000 }).catch(String);
  return /(wrk .*?) (\[|Copyright)/.exec(said)?.[1] ?? "wrk";
}

/** Writes the files that clients read the leads and keys from; `name` is that of the keys' file. */
export function writeLoad(bodies: readonly string[], keys: readonly string[], name = "keys"): Load {
  const load = { bodiesFile: join(buildFolder, "bodies.jsonl"), keysFile: join(buildFolder, `${name}.txt`) };
  writeFileSync(load.bodiesFile, bodies.map((body) => `${body}\n`).join(""));
  writeFileSync(load.keysFile, keys.map((key) => `${key}\n`).join(""), { mode: 0o600 });
  return load;
}

/**
 * Gets one address.
 *
 * @throws {Error} when an answer was an error or a connection failed
 */
export async function get(url: string, options: WrkOptions): Promise<Gets> {
  const said = await runWrk(options, [url]);
  const perSecond = Number(/^Requests\/sec:\s+([\d.]+)/m.exec(said)?.[1]);
  if (!(perSecond > 0) || /Non-2xx|Socket errors/.test(said)) {
    throw new Error(`Not every request was answered:\n${said}`);
  }
  return { requests: Number(/^\s*(\d+) requests in/m.exec(said)?.[1]), perSecond };
}

/**
 * Posts leads.
 *
 * @throws {Error} when an answer was an error or a connection failed
 */
export async function post(url: string, load: Load, options: WrkOptions): Promise<Posts> {
  const prefix = randomBytes(5).toString("hex");
  const said = await runWrk(options, [
    `--script=${scriptFile}`,
    url,
    "--",
    load.bodiesFile,
    load.keysFile,
    prefix,
  ]);
  const result = JSON.parse(/^RESULT (.*)$/m.exec(said)?.[1] ?? "{}") as Posts & {
    durationUs: number;
    failed: number;
  };
  // On a machine that others keep busy, a second may pass without an answer.
  if (result.failed !== 0) {
    throw new Error(`Not every request was accepted:\n${said}`);
  }
  return { ...result, perSecond: result.requests / (result.durationUs / 1e6) };
}

/** One thread: on two cores a second one only takes time from the server. */
function runWrk({ connections, seconds }: WrkOptions, args: readonly string[]): Promise<string> {
  const options = ["--threads=1", `--connections=${connections}`, `--duration=${seconds}s`, "--timeout=10s"];
  return run("wrk", [...options, ...args], { timeoutMs: (seconds + 15) * 1_000 });
}
