/**
 * wrk as the client: it posts leads, each of its own.
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

/** The result of a run: every answer was a 202 or a 200. */
export interface Posts {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of wrk itself. */
  readonly processorUs: number;
}

const scriptFile = fileURLToPath(new URL("lead.lua", import.meta.url));

/** Writes the files that clients read the leads and keys from; `name` is that of the keys' file. */
export function writeLoad(bodies: readonly string[], keys: readonly string[], name = "keys"): Load {
  const load = { bodiesFile: join(buildFolder, "bodies.jsonl"), keysFile: join(buildFolder, `${name}.txt`) };
  writeFileSync(load.bodiesFile, bodies.map((body) => `${body}\n`).join(""));
  writeFileSync(load.keysFile, keys.map((key) => `${key}\n`).join(""), { mode: 0o600 });
  return load;
}

/**
 * Posts leads.
 *
 * @throws {Error} when an answer was an error or a connection failed
 */
export async function post(
  url: string,
  load: Load,
  { connections, seconds }: WrkOptions,
): Promise<Posts> {
  const prefix = randomBytes(5).toString("hex");
  const said = await run("wrk", [
    // On two cores a second thread only takes time from the server.
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    "--timeout=10s",
    `--script=${scriptFile}`,
    url,
    "--",
    load.bodiesFile,
    load.keysFile,
    prefix,
  ], { timeoutMs: (seconds + 15) * 1_000 });
  const result = JSON.parse(/^RESULT (.*)$/m.exec(said)?.[1] ?? "{}") as Posts & {
    durationUs: number;
    failed: number;
  };
  if (result.failed !== 0) throw new Error(`Not every request was accepted:\n${said}`);
  return { ...result, perSecond: result.requests / (result.durationUs / 1e6) };
}
