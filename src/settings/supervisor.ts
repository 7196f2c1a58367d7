/** Reads systemd's notification socket, its watchdog interval, and the reason why the previous process failed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "./reader.ts";

/** The variable for the folder in which `scripts/systemd/backoff.sh` records failures. Source: systemd.exec(5). */
export const runtimeFolderName = "RUNTIME_DIRECTORY";

/** The variables that this module reads. */
export const supervisorNames = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", runtimeFolderName] as const;

export interface Supervisor {
  /** The path of the notification socket. */
  readonly socket: string;
  /** The watchdog interval in milliseconds, or `null`. */
  readonly watchdogMs: number | null;
}

/** Returns `null` if there is no notification socket. Source: sd_notify(3), sd_watchdog_enabled(3). */
export function readSupervisor(environment: Environment, pid: number): Supervisor | null {
  const { NOTIFY_SOCKET, WATCHDOG_USEC = "", WATCHDOG_PID } = environment;
  if (!NOTIFY_SOCKET) return null;
  const isOurs = !WATCHDOG_PID || Number(WATCHDOG_PID) === pid;
  const watchdogMs = isOurs && /^\d{1,15}$/.test(WATCHDOG_USEC) ? Number(WATCHDOG_USEC) / 1_000 : 0;
  return { socket: NOTIFY_SOCKET, watchdogMs: watchdogMs > 0 ? watchdogMs : null };
}

/**
 * Returns systemd's result for the previous process (`watchdog`, `oom-kill`, `signal`, …); `null` if it did not fail or
 * the result is unknown.
 *
 * Source: systemd.exec(5), `$SERVICE_RESULT`.
 */
export function readLastFailure({ [runtimeFolderName]: folder }: Environment): string | null {
  if (!folder) return null;
  try {
    const last = readFileSync(join(folder, "failures"), "utf8").trimEnd().split("\n").at(-1) ?? "";
    return /^[a-z-]{1,40}$/.test(last) ? last : null;
  } catch {
    return null;
  }
}
