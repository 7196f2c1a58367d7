/** Finds and signals processes. Uses `/proc` on Linux, because a minimal Debian has no `ps`, and `ps` elsewhere. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** The program's name without its folder; at most 15 characters on Linux. */
  readonly command: string;
}

/** Finds a process; returns `undefined` if it does not exist or is a zombie. */
export function findProcess(pid: number): ProcessEntry | undefined {
  if (existsSync("/proc/self/stat")) return readStat(pid);
  return listWithPs(["-o", "pid=,ppid=,stat=,comm=", "-p", String(pid)])[0];
}

/** Returns the live children of `pid`. */
export function childrenOf(pid: number): ProcessEntry[] {
  const all = existsSync("/proc/self/stat")
    ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => readStat(Number(name)))
    : listWithPs(["-A", "-o", "pid=,ppid=,stat=,comm="]);
  return all.filter((entry): entry is ProcessEntry => entry?.parentPid === pid);
}

/** Whether the process is alive; a zombie is not. */
export function isAlive(pid: number): boolean {
  return findProcess(pid) !== undefined;
}

/**
 * Sends a signal; returns `false` if the process has exited.
 *
 * @throws {Error} if the process belongs to another user
 */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

function readStat(pid: number): ProcessEntry | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // `pid (command) state parent …`; the command may contain spaces and parentheses.
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const [state, parent] = text.slice(close + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return { pid, parentPid: Number(parent), command: text.slice(open + 1, close) };
}

function listWithPs(args: string[]): ProcessEntry[] {
  const { stdout } = spawnSync("ps", args, { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (match === null || match[3]?.startsWith("Z")) return [];
    const command = (match[4] ?? "").trim().replace(/^.*\//, "");
    return [{ pid: Number(match[1]), parentPid: Number(match[2]), command }];
  });
}
