/** What Linux reports about processes. */

import { readFileSync } from "node:fs";

/** Returns a process's resident memory in MiB. */
export function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Returns how many files this process can open; Node raises the soft limit to the hard one. */
export function openFilesMax(): number {
  const line = /Max open files\s+\d+\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8"));
  return line?.[1] === undefined || line[1] === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(line[1]);
}
