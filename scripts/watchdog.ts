/**
 * Ends what this process has started when this process ends without a chance to do it itself (SIGKILL, a crash).
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";

/** What is to be done, and as whom. */
export interface WatchdogOptions {
  /** The parameters `$1`, `$2` … of the script. */
  readonly args?: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** A shell that waits for this process to end. */
export interface Watchdog {
  /** Sends it away without having done anything. */
  dismiss(): void;
}

// A pipe that nothing refers to is closed by the garbage collector, and the watchdog would take us for dead.
const posted = new Set<ChildProcess>();

/** Runs the shell script as soon as this process has ended, however that happens. It holds nothing up. */
export function postWatchdog(script: string, { args = [], ...account }: WatchdogOptions = {}): Watchdog {
  // Its input is a pipe from us, which the system closes when we end.
  const child: ChildProcess = spawn("/bin/sh", ["-c", `read -r _\n${script}`, "sh", ...args], {
    cwd: "/",
    // In a session of its own, so that what ends our whole process group leaves it there.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    ...account,
  });
  posted.add(child);
  child.on("error", () => posted.delete(child));
  child.on("exit", () => posted.delete(child));
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return { dismiss: () => void child.kill("SIGKILL") };
}

/**
 * The script that ends the process group `$1`, with SIGKILL what has not ended after 25 s. `kill -TERM -- -1234` is
 * an error in Debian's shell.
 */
export const endGroup = `
  kill -s TERM -- "-$1" || exit
  n=0; while kill -s 0 -- "-$1" && [ $n -lt 250 ]; do sleep 0.1; n=$((n + 1)); done
  kill -s KILL -- "-$1"`;
