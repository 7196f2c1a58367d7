/** Stops this process's children if it dies without cleaning up (SIGKILL, a crash). */

import { type ChildProcess, spawn } from "node:child_process";

/** The script's parameters and account. */
export interface WatchdogOptions {
  /** `$1`, `$2` … of the script. */
  readonly args?: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** A shell that waits for this process to die. */
export interface Watchdog {
  /** Stops it without running the script. */
  dismiss(): void;
}

// Keeps the pipes referenced: garbage collection would close one, which looks like our death.
const posted = new Set<ChildProcess>();

/** Runs the shell script once this process has died. It does not keep this process alive. */
export function postWatchdog(script: string, { args = [], ...account }: WatchdogOptions = {}): Watchdog {
  // Its input is our pipe, which the system closes when we die.
  const child: ChildProcess = spawn("/bin/sh", ["-c", `read -r _\n${script}`, "sh", ...args], {
    cwd: "/",
    // Its own session, so that it survives a signal to our process group.
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
 * Stops the process group `$1`, with SIGKILL after 25 s. (`kill -TERM -- -1234` is an error in Debian's shell.)
 */
export const endGroup = `
  kill -s TERM -- "-$1" || exit
  n=0; while kill -s 0 -- "-$1" && [ $n -lt 250 ]; do sleep 0.1; n=$((n + 1)); done
  kill -s KILL -- "-$1"`;
