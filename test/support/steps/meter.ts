/**
 * Measures work in steps that do not depend on the machine or its load: the calls and blocks that V8 counts in the
 * source. It does not count the engine's built-in functions and regular expressions; {@linkcode cpuMs} measures
 * their time.
 */

import { Session } from "node:inspector";
import process from "node:process";

/** The counted source: the service's and the package that reads phone numbers. */
const counted = /\/(src|node_modules\/libphonenumber-js)\//;

// Immediately, because V8 does not count blocks compiled earlier.
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** Returns the steps of a synchronous run, and rethrows what it throws. */
export function countSteps(run: () => unknown): number {
  takeBlocks();
  run();
  return takeBlocks();
}

/** Returns a run's processor time in milliseconds: the minimum of three runs, because other work disturbs them. */
export function cpuMs(run: () => unknown): number {
  return Math.min(...[1, 2, 3].map(() => {
    const before = process.threadCpuUsage();
    run();
    return process.threadCpuUsage(before).user / 1000;
  }));
}

/** Returns the calls and blocks since the previous call. */
function takeBlocks(): number {
  let blocks = 0;
  session.post("Profiler.takePreciseCoverage", (fault, { result }) => {
    if (fault !== null) throw fault;
    for (const { url, functions } of result) {
      if (!counted.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    }
  });
  return blocks;
}
