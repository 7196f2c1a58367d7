/**
 * A process under systemd: says when it is ready, how it is, and, while it is well, that it is alive. It tells systemd through
 * `systemd-notify`: the socket for it is a datagram one of Unix, which neither runtime can write to.
 *
 * @module
 */

import { spawn } from "node:child_process";

/** What is told, by sd_notify's names: `READY`, `STATUS` and so on. */
export type Notice = Readonly<Record<string, string>>;

/** Sends a notice, and resolves when it has arrived. */
export type SendNotice = (notice: Notice) => Promise<void>;

// It takes some milliseconds. systemd may be busy reloading.
const sendTimeoutMs = 10_000;

/**
 * Sends one notice to the socket that `NOTIFY_SOCKET` names. A child that hangs is killed. It gets no other variable: Deno may
 * list none, and there are secrets among them.
 */
export const noticeTo = (socket: string): SendNotice => (notice) =>
  new Promise((resolve, reject) => {
    const child = spawn("systemd-notify", Object.entries(notice).map(([name, value]) => `${name}=${value}`), {
      stdio: "ignore",
      env: { NOTIFY_SOCKET: socket, PATH: "/usr/bin:/bin" },
      timeout: sendTimeoutMs,
      killSignal: "SIGKILL",
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`systemd-notify ended with ${code ?? signal}`));
    });
  });

/** Tells one notice after the other: what comes meanwhile is told in one, the latest of each name. */
export class Notifier {
  readonly #send: SendNotice;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Record<string, string> = {};
  #sending: Promise<void> | null = null;

  constructor({ send, onFailure }: {
    readonly send: SendNotice;
    readonly onFailure: (error: unknown) => void;
  }) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  /**
   * Tells this soon; resolves when it, and what waits before it, was told or has failed. What has failed is told with the
   * next.
   */
  tell(notice: Notice): Promise<void> {
    Object.assign(this.#waiting, notice);
    return this.#sending ??= this.#run();
  }

  async #run(): Promise<void> {
    while (Object.keys(this.#waiting).length > 0) {
      const notice = this.#waiting;
      this.#waiting = {};
      try {
        await this.#send(notice);
      } catch (error) {
        this.#onFailure(error);
        // No child can be started just now, it may be: whoever tells the next thing tries again, the watchdog at the latest.
        const hasMore = Object.keys(this.#waiting).length > 0;
        this.#waiting = { ...notice, ...this.#waiting };
        if (!hasMore) break;
      }
    }
    this.#sending = null;
  }
}

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
