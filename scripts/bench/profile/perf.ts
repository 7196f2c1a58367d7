/**
 * Where the processes of PostgreSQL spend their processor time, by Linux's `perf`.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { childrenOf } from "../../processes.ts";
import { superuser } from "../../postgres_folder.ts";
import { buildFolder, run, start } from "../programs.ts";
import { ofPerf, type Stack } from "./stacks.ts";

/** A prime, so that it beats with no timer. */
const samplesPerSecond = 997;
/** Of each stack, for the frames of a program that keeps no frame pointers. */
const stackBytes = 16_384;
const scriptTimeoutMs = 300_000;

/** Whether `perf` is installed and may look at the processes; otherwise why not. */
export function whyNoPerf(): string | null {
  const { error, status, stderr } = spawnSync("perf", [
    "record",
    "-e",
    "cpu-clock:u",
    "-o",
    "/dev/null",
    "true",
  ]);
  if (error !== undefined) return "perf is missing. On Debian: apt-get install linux-perf";
  return status === 0 ? null : String(stderr).trim();
}

/** The stacks of the server's processes while `work` went on, those that began meanwhile included. */
export async function watchPostgres<T>(
  postmaster: number,
  work: () => Promise<T>,
): Promise<{ found: T; stacks: Stack[] }> {
  // Those who are connected now are we.
  const writers = childrenOf(postmaster).map(({ pid }): [number, string] => [pid, titleOf(pid)])
    .filter(([, title]) => !title.startsWith(superuser));
  const names = new Map([...writers, [postmaster, "postmaster"]]);
  const file = join(buildFolder, "perf.data");
  // The kernel's share is told to root only.
  const event = process.getuid?.() === 0 ? "cpu-clock" : "cpu-clock:u";
  const recorder = start("perf", [
    "record",
    ...["-e", event, "-F", String(samplesPerSecond), `--call-graph=dwarf,${stackBytes}`, "-o", file],
    ...["-p", [...names.keys()].join(",")],
  ], { logFile: join(buildFolder, "perf.log") });
  const ended = once(recorder, "exit");
  // It says nothing when it has begun; the processes do nothing yet.
  await delay(500);
  let found: T;
  try {
    found = await work();
  } finally {
    recorder.kill("SIGINT");
    await ended;
  }
  const text = await run("perf", ["script", "-i", file, "-F", "pid,ip,sym", "--no-inline"], {
    timeoutMs: scriptTimeoutMs,
  });
  return { found, stacks: ofPerf(text, (pid) => names.get(pid) ?? "backend") };
}

/** `postgres: walwriter ` is how a process of PostgreSQL calls itself. */
function titleOf(pid: number): string {
  const title = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
  return title.replace(/^postgres: /, "");
}
