/**
 * What a piece of work costs, for tests of how it grows.
 *
 * @module
 */

import process from "node:process";

/** The least of several runs, in microseconds of this process's own time: what others do does not count. */
export function leastCpu(run: () => void): number {
  let least = Infinity;
  for (let time = 0; time < 5; time++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}
