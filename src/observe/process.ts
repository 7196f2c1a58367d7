/** Process metrics (processor, memory, files, event loop delay), named as in Prometheus's own clients. */

import { readdirSync, readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import process from "node:process";
import { getHeapStatistics } from "node:v8";
import manifest from "../../package.json" with { type: "json" };
import { described } from "./metrics.ts";
import type { Registry } from "./registry.ts";

const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
// Chosen: our own timer, because Deno has no monitorEventLoopDelay; ten samples a second cost nothing.
const lagIntervalMs = 100;

const runtime = process.versions.deno === undefined ? "node" : "deno";
const runtimeVersion = process.versions.deno ?? process.versions.node;

/** Options. */
export interface ProcessFacts {
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** How the previous process failed, if it did. */
  readonly lastFailure: string | null;
}

/** Adds the metrics; returns a function that stops measuring. */
export function addProcessMeters(registry: Registry, { nowMs, lastFailure }: ProcessFacts): () => void {
  registry.info(
    described("lead_build_info"),
    { version: manifest.version, runtime, runtime_version: runtimeVersion },
  );
  registry.readCounter(described("process_cpu_seconds_total"), () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  registry.gauge(described("process_resident_memory_bytes"), () => process.memoryUsage().rss);
  registry.gauge(described("process_heap_bytes"), () => process.memoryUsage().heapUsed);
  registry.gauge(described("process_memory_limit_bytes"), memoryLimit);
  registry.gauge(described("process_heap_limit_bytes"), () => getHeapStatistics().heap_size_limit);
  const garbage = measureGarbage();
  registry.readCounter(described("process_gc_seconds_total"), garbage.seconds);
  registry.gauge(described("process_start_time_seconds"), () => performance.timeOrigin / 1_000);
  registry.gauge(
    described("lead_last_failure"),
    () => new Map(lastFailure === null ? [] : [[lastFailure, 1]]),
  );
  registry.gauge(described("process_open_fds"), openFiles);
  registry.gauge(described("process_max_fds"), openFilesMax);
  const lag = registry.histogram(described("process_event_loop_lag_seconds"), lagBuckets);
  let dueAtMs = nowMs() + lagIntervalMs;
  const timer = setInterval(() => {
    const now = nowMs();
    lag.observe(Math.max(0, now - dueAtMs) / 1_000);
    dueAtMs = now + lagIntervalMs;
  }, lagIntervalMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    garbage.stop();
  };
}

/** Garbage collection time; Deno never reports it. */
function measureGarbage(): { readonly seconds: () => number | null; readonly stop: () => void } {
  if (runtime === "deno") return { seconds: () => null, stop: () => {} };
  let seconds = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seconds += duration / 1_000;
  });
  observer.observe({ entryTypes: ["gc"] });
  return { seconds: () => seconds, stop: () => observer.disconnect() };
}

/** `null` without a limit or without Deno's permission. */
function memoryLimit(): number | null {
  try {
    const limit = process.constrainedMemory();
    // Without a limit it is 0 or huge.
    return limit > 0 && limit < 2 ** 53 ? limit : null;
  } catch {
    return null;
  }
}

function openFilesMax(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** `null` without `/proc` or Deno's permission. */
function openFiles(): number | null {
  try {
    // Without the descriptor that lists them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}

/** expvar's `cmdline` and `memstats`, with Go's names. */
export function processVars(): { cmdline: readonly string[]; memstats: Readonly<Record<string, number>> } {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    // Only the program: arguments might be secrets.
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
