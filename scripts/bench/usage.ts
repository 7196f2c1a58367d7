/**
 * What processes use of the machine, from Linux's `/proc`.
 *
 * @module
 */

import { readFileSync } from "node:fs";

/** Of a process, in MiB. */
export interface Memory {
  readonly residentMiB: number;
  /** The most it ever had. */
  readonly highestMiB: number;
}

/** Reads the memory of a process. */
export function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { residentMiB: mebibytes("VmRSS"), highestMiB: mebibytes("VmHWM") };
}

/** The kernel counts in hundredths of a second, whatever its own clock is. */
const ticksPerSecond = 100;

/** Seconds of processor time that processes have taken together; those that are gone count nothing. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticks(pid, 11) + ticks(pid, 12), 0) / ticksPerSecond;
}

/** Seconds of processor time of the children that a process has started and that have ended. */
export function endedCpuSeconds(pid: number): number {
  return (ticks(pid, 13) + ticks(pid, 14)) / ticksPerSecond;
}

// After the program's name in parentheses: utime, stime and those of ended children are the 12th to 15th field.
function ticks(pid: number, field: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[field]);
  } catch {
    // It has ended.
    return 0;
  }
}
