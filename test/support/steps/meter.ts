/**
 * Work counted in steps, the same on every machine and at every load: the calls and blocks of the source that V8 counts. What
 * the engine's built-in functions and regular expressions do is not among them; {@linkcode cpuMs} has their time.
 */

import { Session } from "node:inspector";
import process from "node:process";

/** What the source may have executed: itself, and the package that reads phone numbers' countries. */
const counted = /\/(src|node_modules\/libphonenumber-js)\//;

// At once: V8 counts no blocks of what was compiled before.
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** The steps of a run; what it throws is thrown on. Runs end before they return. */
export function countSteps(run: () => unknown): number {
  takeBlocks();
  run();
  return takeBlocks();
}

/** Milliseconds of this thread's processor that a run takes: the least of three, because the machine has other work. */
export function cpuMs(run: () => unknown): number {
  return Math.min(...[1, 2, 3].map(() => {
    const before = process.threadCpuUsage();
    run();
    return process.threadCpuUsage(before).user / 1000;
  }));
}

/** The calls and blocks since the last time. */
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
