/** Process metrics (processor, memory, files, event loop delay), named as in Prometheus's own clients. */

import { readdirSync, readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import process from "node:process";
import { getHeapStatistics } from "node:v8";
import manifest from "../../package.json" with { type: "json" };
import { definition } from "./metrics.ts";
import type { Registry } from "./registry.ts";

const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
// Chosen: our own timer, because Deno has no monitorEventLoopDelay; ten samples per second cost almost nothing.
const lagIntervalMs = 100;

const runtime = process.versions.deno === undefined ? "node" : "deno";
const runtimeVersion = process.versions.deno ?? process.versions.node;

export interface ProcessMetersOptions {
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** Why the previous process failed; `null` if it did not fail or the reason is unknown. */
  readonly lastFailure: string | null;
}

/** Adds the metrics; returns a function that stops measuring. */
export function addProcessMeters(
  registry: Registry,
  { nowMs, lastFailure }: ProcessMetersOptions,
): () => void {
  registry.info(
    definition("lead_build_info"),
    { version: manifest.version, runtime, runtime_version: runtimeVersion },
  );
  registry.externalCounter(definition("process_cpu_seconds_total"), () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  registry.gauge(definition("process_resident_memory_bytes"), () => process.memoryUsage().rss);
  registry.gauge(definition("process_heap_bytes"), () => process.memoryUsage().heapUsed);
  registry.gauge(definition("process_memory_limit_bytes"), memoryLimit);
  registry.gauge(definition("process_heap_limit_bytes"), () => getHeapStatistics().heap_size_limit);
  const gcTime = measureGcTime();
  registry.externalCounter(definition("process_gc_seconds_total"), gcTime.seconds);
  registry.gauge(definition("process_start_time_seconds"), () => performance.timeOrigin / 1_000);
  registry.gauge(
    definition("lead_last_failure"),
    () => new Map(lastFailure === null ? [] : [[lastFailure, 1]]),
  );
  registry.gauge(definition("process_open_fds"), openFiles);
  registry.gauge(definition("process_max_fds"), openFilesMax);
  const lag = registry.histogram(definition("process_event_loop_lag_seconds"), lagBuckets);
  let dueAtMs = nowMs() + lagIntervalMs;
  const timer = setInterval(() => {
    const now = nowMs();
    lag.observe(Math.max(0, now - dueAtMs) / 1_000);
    dueAtMs = now + lagIntervalMs;
  }, lagIntervalMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    gcTime.stop();
  };
}

/** Measures garbage collection time, which Deno never reports. */
function measureGcTime(): { readonly seconds: () => number | null; readonly stop: () => void } {
  if (runtime === "deno") return { seconds: () => null, stop: () => {} };
  let seconds = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seconds += duration / 1_000;
  });
  observer.observe({ entryTypes: ["gc"] });
  return { seconds: () => seconds, stop: () => observer.disconnect() };
}

/** Returns the memory limit, or `null` without one or without Deno's permission. */
function memoryLimit(): number | null {
  try {
    const limit = process.constrainedMemory();
    // The value is 0 or huge if there is no limit.
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

/** Returns the number of open files, or `null` without `/proc` or Deno's permission. */
function openFiles(): number | null {
  try {
    // Listing the folder opens one descriptor.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}

/** Returns expvar's `cmdline` and `memstats`, with Go's names. */
export function processVars(): { cmdline: readonly string[]; memstats: Readonly<Record<string, number>> } {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    // Omits the arguments, which might be secrets.
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
