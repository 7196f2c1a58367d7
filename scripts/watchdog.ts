/** Stops a process's children if the process dies without cleaning up (SIGKILL, a crash). */

import { type ChildProcess, spawn } from "node:child_process";

export interface WatchdogOptions {
  /** The script's `$1`, `$2` … */
  readonly args?: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** A shell that waits until this process dies. */
export interface Watchdog {
  /** Stops the shell without running the script. */
  dismiss(): void;
}

// Keeps the pipes referenced: garbage collection would close them, which looks like the death of this process.
const watchdogs = new Set<ChildProcess>();

/** Starts a shell that runs the script once this process has died. The shell does not keep this process alive. */
export function startWatchdog(script: string, { args = [], ...account }: WatchdogOptions = {}): Watchdog {
  // The shell's input is our pipe, which the system closes when this process dies.
  const child: ChildProcess = spawn("/bin/sh", ["-c", `read -r _\n${script}`, "sh", ...args], {
    cwd: "/",
    // The shell has its own session, so that it survives a signal to our process group.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    ...account,
  });
  watchdogs.add(child);
  child.on("error", () => watchdogs.delete(child));
  child.on("exit", () => watchdogs.delete(child));
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return { dismiss: () => void child.kill("SIGKILL") };
}

/**
 * A script that stops the process group `$1`, with SIGKILL after 25 s. Debian's shell rejects `kill -TERM -- -1234`.
 */
export const stopGroupScript = `
  kill -s TERM -- "-$1" || exit
  n=0; while kill -s 0 -- "-$1" && [ $n -lt 250 ]; do sleep 0.1; n=$((n + 1)); done
  kill -s KILL -- "-$1"`;
