/**
 * The processes of this machine: whether one is alive, its name, and its children.
 *
 * Reads `/proc` on Linux, because a minimal Debian has no `ps`; elsewhere calls `ps`.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** One running process. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** The program's name without its folder; at most 15 characters on Linux. */
  readonly command: string;
}

/** `undefined` for no such process or a zombie. */
export function findProcess(pid: number): ProcessEntry | undefined {
  if (existsSync("/proc/self/stat")) return readStat(pid);
  return list(["-o", "pid=,ppid=,stat=,comm=", "-p", String(pid)])[0];
}

/** The live children of `pid`. */
export function childrenOf(pid: number): ProcessEntry[] {
  const all = existsSync("/proc/self/stat")
    ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => readStat(Number(name)))
    : list(["-A", "-o", "pid=,ppid=,stat=,comm="]);
  return all.filter((entry): entry is ProcessEntry => entry?.parentPid === pid);
}

/** Whether the process is alive; a zombie is not. */
export function isAlive(pid: number): boolean {
  return findProcess(pid) !== undefined;
}

/**
 * Sends a signal; `false` if the process is gone.
 *
 * @throws when the process belongs to another user
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
  // `pid (command) state parent …`; the command may hold spaces and parentheses itself.
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const [state, parent] = text.slice(close + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return { pid, parentPid: Number(parent), command: text.slice(open + 1, close) };
}

function list(args: string[]): ProcessEntry[] {
  const { stdout } = spawnSync("ps", args, { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (match === null || match[3]?.startsWith("Z")) return [];
    const command = (match[4] ?? "").trim().replace(/^.*\//, "");
    return [{ pid: Number(match[1]), parentPid: Number(match[2]), command }];
  });
}
