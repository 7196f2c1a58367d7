/**
 * Reports readiness, status and watchdog pings to systemd. Uses `systemd-notify`, because Node and Deno cannot write
 * to a Unix datagram socket.
 */

import { spawn } from "node:child_process";

/** A notification with sd_notify's names: `READY`, `STATUS` and so on. */
export type Notice = Readonly<Record<string, string>>;

/** Sends a notice; resolves when systemd has received it. */
export type SendNotice = (notice: Notice) => Promise<void>;

// Sending usually takes milliseconds, but systemd may be busy reloading.
const sendTimeoutMs = 10_000;

/**
 * Returns a function that sends a notice to `socket` through a child process, which is killed if it hangs. The child
 * gets a minimal environment, because some variables are secret and Deno with `--allow-env=…` cannot list the others.
 */
export const createSendNotice = (socket: string): SendNotice => (notice) =>
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

/** Sends one notice at a time and merges those queued in the meantime; the latest value of a name wins. */
export class Notifier {
  readonly #send: SendNotice;
  readonly #onFailure: (error: unknown) => void;
  #queued: Record<string, string> = {};
  #sending: Promise<void> | null = null;

  constructor({ send, onFailure }: {
    readonly send: SendNotice;
    readonly onFailure: (error: unknown) => void;
  }) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  /** Queues a notice; resolves when all queued notices have been sent or have failed. */
  notify(notice: Notice): Promise<void> {
    Object.assign(this.#queued, notice);
    return this.#sending ??= this.#run();
  }

  async #run(): Promise<void> {
    while (Object.keys(this.#queued).length > 0) {
      const notice = this.#queued;
      this.#queued = {};
      try {
        await this.#send(notice);
      } catch (error) {
        this.#onFailure(error);
        // The failed notice is merged into the next one, such as a watchdog ping.
        const hasMore = Object.keys(this.#queued).length > 0;
        this.#queued = { ...notice, ...this.#queued };
        if (!hasMore) break;
      }
    }
    this.#sending = null;
  }
}

/** The health of a process, as reported to systemd. */
export interface Health {
  /** Whether the process is listening and its dependencies work; only the first `true` counts. */
  readonly isReady: boolean;
  /** Whether the process's own loops are running, even if its dependencies are down. */
  readonly isAlive: boolean;
  /** The line that `systemctl status` shows. */
  readonly status: string;
}

const checkIntervalMs = 1_000;
// The minimum time between two statuses. Every lead changes the status, and each notice needs a child process.
const statusPauseMs = 10_000;
// Longer than `statusPauseMs`, the interval at which the timeout is extended.
const extendMs = 30_000;

/** Reports the process's health to systemd until the returned function is called. */
export function supervise(
  health: () => Health,
  { notifier, watchdogMs, nowMs }: {
    readonly notifier: Notifier;
    readonly watchdogMs: number | null;
    readonly nowMs: () => number;
  },
): () => void {
  let isReady = false;
  let status = "";
  let statusSentAtMs = Number.NEGATIVE_INFINITY;
  let watchdogSentAtMs = Number.NEGATIVE_INFINITY;
  const watchdogPauseMs = watchdogMs === null ? Infinity : watchdogMs / 3;
  const check = () => {
    const current = health();
    const now = nowMs();
    const notice: Record<string, string> = {};
    if (!isReady && current.isReady) {
      isReady = true;
      notice.READY = "1";
    }
    if (now - statusSentAtMs >= statusPauseMs || notice.READY !== undefined) {
      statusSentAtMs = now;
      if (current.status !== status) notice.STATUS = status = current.status;
      // Extends systemd's start timeout.
      if (!isReady) notice.EXTEND_TIMEOUT_USEC = String(extendMs * 1_000);
    }
    if (current.isAlive && now - watchdogSentAtMs >= watchdogPauseMs) {
      notice.WATCHDOG = "1";
      watchdogSentAtMs = now;
    }
    if (Object.keys(notice).length > 0) void notifier.notify(notice);
  };
  check();
  const timer = setInterval(check, Math.min(checkIntervalMs, watchdogPauseMs));
  return () => clearInterval(timer);
}
