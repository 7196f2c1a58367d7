/**
 * Reports readiness, status and watchdog signals to systemd. Uses `systemd-notify`, because neither runtime can write to a Unix
 * datagram socket.
 */

import { spawn } from "node:child_process";

/** A notice by sd_notify's names: `READY`, `STATUS` and so on. */
export type Notice = Readonly<Record<string, string>>;

/** Sends a notice; resolves when it has arrived. */
export type SendNotice = (notice: Notice) => Promise<void>;

// Usually milliseconds; systemd may be busy reloading.
const sendTimeoutMs = 10_000;

/**
 * Sends one notice to the socket that `NOTIFY_SOCKET` names; kills a child that hangs. The child gets no other variables, because
 * some are secrets and Deno may list none.
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

/** Sends one notice at a time, and merges those that arrive meanwhile; the latest value of a name wins. */
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
   * Queues a notice; resolves when it and those before it were sent or failed. A failed one is sent with the next.
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
        // Perhaps no child can be started now: the next notice retries, at the latest the watchdog's.
        const hasMore = Object.keys(this.#waiting).length > 0;
        this.#waiting = { ...notice, ...this.#waiting };
        if (!hasMore) break;
      }
    }
    this.#sending = null;
  }
}

/** The condition of a process, for its supervisor. */
export interface Condition {
  /** Everything is open, and its dependencies have worked once. */
  readonly isReady: boolean;
  /** Its own loops run; its dependencies may be down. */
  readonly isAlive: boolean;
  /** A line for `systemctl status`. */
  readonly status: string;
}

// Interval of the checks.
const lookMs = 1_000;
// Each status starts a child process; leads change it all the time.
const statusPauseMs = 10_000;
// Longer than the longest pause between two checks, and renewed at each.
const extendMs = 30_000;

/** Reports the process's condition until the returned function is called. */
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
      // While it starts, extend systemd's start timeout.
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
