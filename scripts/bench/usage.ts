/**
 * What processes use of the machine, from Linux's `/proc`.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { childrenOf } from "../processes.ts";
import type { Measures } from "./measure.ts";

/** Of a process and its children, in MiB. */
interface Memory {
  readonly residentMiB: number;
  /** The most that each ever had. */
  readonly highestMiB: number;
}

/** Reads the memory of a process and of its children. */
export function readMemory(pid: number): Memory {
  const all = [pid, ...childrenOf(pid).map(({ pid }) => pid)]
    .map((one) => readFileSync(`/proc/${one}/status`, "utf8"));
  const mebibytes = (name: string) =>
    all.reduce((sum, text) => sum + Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]), 0) /
    1024;
  return { residentMiB: mebibytes("VmRSS"), highestMiB: mebibytes("VmHWM") };
}

/** Seconds of processor time of a process and of its children, those included that have ended. */
export function cpuSeconds(pid: number): number {
  const living = childrenOf(pid).reduce((sum, child) => sum + (ticks(child.pid)[0] ?? 0), 0);
  const [own = 0, ended = 0] = ticks(pid);
  return (own + ended + living) / ticksPerSecond;
}

/** Counts processor time from now on; the function it returns tells what it came to for each of so many. */
export function meter(pids: Readonly<Record<string, number>>): (count: number, what: string) => Measures {
  const read = () => Object.entries(pids).map(([name, pid]): [string, number] => [name, cpuSeconds(pid)]);
  const before = Object.fromEntries(read());
  return (count, what) =>
    Object.fromEntries(
      read().map(([name, seconds]) => [
        `${name}, processor µs per ${what}`,
        (seconds - (before[name] as number)) * 1e6 / count,
      ]),
    );
}

/** The kernel counts in hundredths of a second, whatever its own clock is. */
const ticksPerSecond = 100;

/** Of a process itself, and of its children that have ended. */
function ticks(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the program's name in parentheses: utime, stime and those of ended children are the 12th to 15th field.
    const [user, system, endedUser, endedSystem] = text.slice(text.lastIndexOf(")") + 2).split(" ").slice(
      11,
      15,
    )
      .map(Number) as [number, number, number, number];
    return [user + system, endedUser + endedSystem];
  } catch {
    // It has ended.
    return [];
  }
}
