/**
 * The servers under load: ours, as it runs in production, and the two peers.
 *
 * @module
 */

import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { variables } from "../../src/settings/variables.ts";
import { start, stop } from "./children.ts";

/** A server that accepts requests. */
export interface Target {
  /** Where leads go. */
  readonly url: string;
  readonly pid: number;
  /** Its outputs. */
  readonly logFile: string;
  /** Asks it to stop and returns when it is gone. */
  stop(): Promise<void>;
}

/** Where the benchmark leaves its files. */
export const buildFolder = fileURLToPath(new URL("../../build/bench", import.meta.url));

const repository = fileURLToPath(new URL("../../", import.meta.url));
const startTimeoutMs = 20_000;
/** Between tries to connect. */
const pollMs = 5;

// Limits so high that they never refuse; they are spent and shown on every answer all the same.
const raised = { INTAKE_IP_PER_MINUTE: "999999999", INTAKE_IP_BURST: "999999999" };
const raisedKeys = { INTAKE_KEY_PER_MINUTE: "999999999", INTAKE_KEY_BURST: "999999999" };

/** How to start ours. */
export interface OursOptions {
  readonly databaseUrl: string;
  /** Flags of Node, such as the profiler's. */
  readonly nodeFlags?: readonly string[];
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the process of our server and does not wait for it. */
export async function spawnOurs(
  { databaseUrl, nodeFlags = [], env = {} }: OursOptions,
): Promise<{ child: ChildProcess; base: string; logFile: string }> {
  const port = await freePort();
  // The access log goes to a file, all of it, as under a service manager.
  const logFile = join(buildFolder, "ours.log");
  const others = Object.keys(variables).filter((name) => name.endsWith("_LISTEN"));
  const child = start(process.execPath, [...nodeFlags, "src/main.ts"], {
    cwd: repository,
    logFile,
    env: {
      ...Object.fromEntries(others.map((name) => [name, "127.0.0.1:0"])),
      ...raised,
      ...raisedKeys,
      ...env,
      DATABASE_URL: databaseUrl,
      INTAKE_LISTEN: `127.0.0.1:${port}`,
    },
  });
  return { child, base: `http://127.0.0.1:${port}`, logFile };
}

/** Starts our server. */
export async function startOurs(options: OursOptions): Promise<Target> {
  const { child, base, logFile } = await spawnOurs(options);
  return await ready(child, { base, logFile });
}

/** Starts Fastify with node-postgres. `pipeline`: statements are sent ahead of the answers they do not need. */
export function startFastify(
  options: { databaseUrl: string; poolSize: number; pipeline: boolean },
): Promise<Target> {
  return startPeer("fastify", {
    DATABASE_URL: options.databaseUrl,
    POOL_SIZE: String(options.poolSize),
    PIPELINE: options.pipeline ? "1" : "",
  });
}

/** Starts the bare node:http server. */
export function startBare(): Promise<Target> {
  return startPeer("bare", {});
}

/** Starts a server of `peers/` by its name. */
export async function startPeer(name: string, env: Record<string, string>): Promise<Target> {
  const port = await freePort();
  const script = fileURLToPath(new URL(`peers/${name}.mjs`, import.meta.url));
  const logFile = join(buildFolder, `${name}.log`);
  const child = start(process.execPath, [script], {
    cwd: repository,
    logFile,
    env: { ...env, PORT: String(port), NODE_ENV: "production" },
  });
  return await ready(child, { base: `http://127.0.0.1:${port}`, logFile });
}

/** Waits until a server answers `GET /healthz`; a peer that does not know the path answers too. */
async function ready(
  child: ChildProcess,
  { base, logFile }: { base: string; logFile: string },
): Promise<Target> {
  const deadlineMs = performance.now() + startTimeoutMs;
  while (true) {
    const status = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(2_000) })
      .then((response) => response.status, () => 0);
    if (status !== 0 && status !== 503) break;
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadlineMs) {
      await stop(child);
      throw new Error(`A server did not start:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
    }
    await delay(pollMs);
  }
  return { url: `${base}/v1/intake`, pid: child.pid ?? 0, logFile, stop: () => stop(child) };
}

/** Below the range of outgoing connections, so that polling it cannot connect to itself. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(15_000, 32_000);
    const free = await new Promise<boolean>((settle) => {
      const server = createServer().once("error", () => settle(false));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => settle(true)));
    });
    if (free) return port;
  }
  throw new Error("No free port between 15000 and 32000 on 127.0.0.1");
}
