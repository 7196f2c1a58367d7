/**
 * What the process itself uses: processor, memory, files, and how late its event loop is. Names as Prometheus's own
 * clients have them.
 *
 * @module
 */

import { readdirSync } from "node:fs";
import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import type { Registry } from "./registry.ts";

const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
// Chosen: a timer of our own, because Deno has no monitorEventLoopDelay; ten looks a second cost nothing.
const lagIntervalMs = 100;

const runtime = process.versions.deno === undefined ? "node" : "deno";
const runtimeVersion = process.versions.deno ?? process.versions.node;

/** Adds the families, and returns what stops measuring. */
export function addProcessMeters(registry: Registry, nowMs: () => number): () => void {
  registry.info(
    { name: "lead_build_info", help: "Always 1; the labels say what runs." },
    { version: manifest.version, runtime, runtime_version: runtimeVersion },
  );
  registry.readCounter({
    name: "process_cpu_seconds_total",
    help: "Processor time of the process, user and system, in seconds.",
  }, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  registry.gauge(
    { name: "process_resident_memory_bytes", help: "Resident memory in bytes." },
    () => process.memoryUsage().rss,
  );
  registry.gauge(
    { name: "process_heap_bytes", help: "JavaScript heap in use, in bytes." },
    () => process.memoryUsage().heapUsed,
  );
  registry.gauge(
    { name: "process_start_time_seconds", help: "When the process started, in seconds since 1970." },
    () => performance.timeOrigin / 1_000,
  );
  registry.gauge(
    { name: "process_open_fds", help: "Open file descriptors; left out where they cannot be read." },
    openFiles,
  );
  const lag = registry.histogram({
    name: "process_event_loop_lag_seconds",
    help: "How late a timer of 100 ms was.",
  }, lagBuckets);
  let dueAtMs = nowMs() + lagIntervalMs;
  const timer = setInterval(() => {
    const now = nowMs();
    lag.observe(Math.max(0, now - dueAtMs) / 1_000);
    dueAtMs = now + lagIntervalMs;
  }, lagIntervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** `null` where there is no `/proc`, or Deno was not allowed to read it. */
function openFiles(): number | null {
  try {
    // Without the one that reads them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}

/** The members of expvar's `cmdline` and `memstats`, under the names that Go gives to the same figures. */
export function processVars(): { cmdline: readonly string[]; memstats: Readonly<Record<string, number>> } {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    // The program alone: what follows might be somebody's secret, and the service takes no arguments.
    cmdline: process.argv.slice(0, 2),
    memstats: {
      Alloc: heapUsed,
      Sys: rss,
      HeapAlloc: heapUsed,
      HeapSys: heapTotal,
      HeapInuse: heapUsed,
      HeapIdle: Math.max(0, heapTotal - heapUsed),
      OtherSys: external,
    },
  };
}
