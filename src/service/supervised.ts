/**
 * A process under systemd: says when it is ready, how it is, and, while it is well, that it is alive.
 *
 * @module
 */

import type { Notifier } from "./notifier.ts";

/** How a process is, for whoever watches over it. */
export interface Condition {
  /** Everything is open, and what it stands on has worked once. */
  readonly isReady: boolean;
  /** Its own loops go on; what it stands on may be away. */
  readonly isAlive: boolean;
  /** A line for `systemctl status`. */
  readonly status: string;
}

// The status is for a person; a change is told within this time.
const lookMs = 1_000;
// A child for every change would be many while leads come in.
const statusPauseMs = 10_000;
// Longer than the longest wait between two looks, and told again at each.
const extendMs = 30_000;

/** Looks at the process until it is stopped, and tells what it finds. */
export function supervise(
  condition: () => Condition,
  { notifier, watchdogMs, nowMs }: {
    readonly notifier: Notifier;
    readonly watchdogMs: number | null;
    readonly nowMs: () => number;
  },
): () => void {
  let isReady = false;
  let status = "";
  let statusMs = Number.NEGATIVE_INFINITY;
  let fedMs = Number.NEGATIVE_INFINITY;
  const feedMs = watchdogMs === null ? Infinity : watchdogMs / 3;
  const look = () => {
    const found = condition();
    const now = nowMs();
    const notice: Record<string, string> = {};
    if (!isReady && found.isReady) {
      isReady = true;
      notice.READY = "1";
    }
    if (now - statusMs >= statusPauseMs || notice.READY !== undefined) {
      statusMs = now;
      if (found.status !== status) notice.STATUS = status = found.status;
      // While it starts, whoever waits for it is told to wait on.
      if (!isReady) notice.EXTEND_TIMEOUT_USEC = String(extendMs * 1_000);
    }
    if (found.isAlive && now - fedMs >= feedMs) {
      notice.WATCHDOG = "1";
      fedMs = now;
    }
    if (Object.keys(notice).length > 0) void notifier.tell(notice);
  };
  look();
  const timer = setInterval(look, Math.min(lookMs, feedMs));
  return () => clearInterval(timer);
}
