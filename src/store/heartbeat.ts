/**
 * Whether the store takes writes, known from real ones: a row of this process is updated every half
 * second, and every confirmed commit counts too.
 *
 * @module
 */

import { Pool } from "./sql.ts";

/** How the heartbeat is run. */
export interface HeartbeatOptions {
  readonly databaseUrl: string;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** This process's row, 0 to 63; two processes on one row only wait for each other a moment. */
  readonly slot: number;
  /** Called when the store stops taking writes, with the cause, and when it takes them again. */
  readonly onChange: (writable: boolean, cause: unknown) => void;
}

// `store_writable` turns false at most interval + deadline after the last write: under 2 s.
const intervalMs = 500;
const deadlineMs = 1_000;
// While the store is away: so that "accepting again" follows its return at once.
const retryMs = 200;
const writeAgeMaxMs = 2_000;

/** Writes now and then and remembers how that went. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #pool: Pool;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writable = false;
  #wroteAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;
  /** Rows of the outbox that are not settled, as last read. */
  pending = 0;
  /** Dead rows of the outbox, as last read. */
  dead = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#pool = new Pool({
      databaseUrl: options.databaseUrl,
      name: "heartbeat",
      connectionsMax: 1,
      statementTimeoutMs: deadlineMs,
    });
  }

  /** Beats once and goes on beating until {@linkcode close}. */
  async start(): Promise<void> {
    await this.#beat();
  }

  /** Whether a real write no older than 2 s is known and none has failed since. */
  get writable(): boolean {
    return this.#writable && this.#options.nowMs() - this.#wroteAtMs <= writeAgeMaxMs;
  }

  /** Notes a write that somebody else has done. */
  wrote(): void {
    this.#wroteAtMs = this.#options.nowMs();
  }

  async #beat(): Promise<void> {
    const startedAtMs = this.#options.nowMs();
    try {
      const [row] = await this.#pool.run(
        deadlineMs,
        (sql) => sql<{ pending: string; dead: string }[]>`select * from beat(${this.#options.slot})`,
      );
      this.pending = Math.max(0, Number(row?.pending));
      this.dead = Math.max(0, Number(row?.dead));
      this.wrote();
      this.#change(true, null);
    } catch (error) {
      this.#change(false, error);
    }
    if (this.#closed) return;
    const pauseMs = this.#writable ? intervalMs - (this.#options.nowMs() - startedAtMs) : retryMs;
    this.#timer = setTimeout(() => void this.#beat(), Math.max(0, pauseMs));
  }

  #change(writable: boolean, cause: unknown): void {
    if (writable === this.#writable) return;
    this.#writable = writable;
    if (!this.#closed) this.#options.onChange(writable, cause);
  }

  /** Stops beating. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#pool.close();
  }
}
