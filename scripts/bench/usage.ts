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
  let ticks = 0;
  for (const pid of pids) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, "utf8");
      // After the program's name in parentheses, utime and stime are the 12th and 13th field.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended.
    }
  }
  return ticks / ticksPerSecond;
}
