/**
 * What systemd tells a process of itself: where it wants to hear that the process is ready, how often that it is alive, and
 * how the one before it ended.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Where `scripts/systemd/backoff.sh` notes how a process failed. Source: systemd.exec(5), `RuntimeDirectory=`. */
export const runtimeFolderName = "RUNTIME_DIRECTORY";

/** The variables that are read here. */
export const supervisorNames = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", runtimeFolderName] as const;

/** Whoever watches over the process. */
export interface Supervisor {
  /** The socket on which it listens. */
  readonly socket: string;
  /** A sign of life is wanted at least this often, in milliseconds; `null`: never. */
  readonly watchdogMs: number | null;
}

/**
 * Reads it; `null` when nobody wants to be told.
 *
 * Source: sd_notify(3), sd_watchdog_enabled(3).
 */
export function readSupervisor(environment: Environment, pid: number): Supervisor | null {
  const { NOTIFY_SOCKET, WATCHDOG_USEC = "", WATCHDOG_PID } = environment;
  if (!NOTIFY_SOCKET) return null;
  const isOurs = !WATCHDOG_PID || Number(WATCHDOG_PID) === pid;
  const watchdogMs = isOurs && /^\d{1,15}$/.test(WATCHDOG_USEC) ? Number(WATCHDOG_USEC) / 1_000 : 0;
  return { socket: NOTIFY_SOCKET, watchdogMs: watchdogMs > 0 ? watchdogMs : null };
}

/**
 * How the process before this one failed, in systemd's word: `watchdog`, `oom-kill`, `signal` and so on; `null` when it
 * ended in good order, or nobody knows.
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
