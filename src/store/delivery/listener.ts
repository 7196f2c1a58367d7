/**
 * Listens for the hint that another node has committed something to deliver.
 *
 * A LISTEN connection can be half open: the other side is gone and nobody says so. So the listener
 * sends itself a notification now and then, and connects anew when none comes back. It also leaves a server that takes
 * no writes, as the pools do: after a fail-over the notifications are another server's.
 *
 * @module
 */

import postgres from "postgres";
import { ServerRole } from "../generation.ts";
import { type Pool, readOnlyStayMs } from "../pool.ts";

/** What the listener is told. */
export interface ListenerOptions {
  readonly databaseUrl: string;
  /** For the notifications to itself; connections that can write. */
  readonly pool: Pool;
  /** Names this process in notifications; its own commits tell it nothing new. */
  readonly node: string;
  /** Another node has committed, or listening has begun anew: something may have been missed. */
  readonly onHint: () => void;
}

// Within 15 s a half-open connection is noticed: the silence, and at most one more beat until it is looked at, with a
// second left for a busy machine. It is longer than two beats, so that one that fails is no silence.
const beatMs = 4_000;
const silenceMaxMs = 10_000;
const deadlineMs = 2_000;

/** Listens until it is closed; reconnects by itself. */
export class OutboxListener {
  readonly #options: ListenerOptions;
  #sql: postgres.Sql | null = null;
  #heardAtMs = 0;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#connect();
    this.#timer = setInterval(() => void this.#beat(), beatMs);
  }

  #connect(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
    const role = new ServerRole();
    const sql = postgres(this.#options.databaseUrl, {
      max: 1,
      connect_timeout: 2,
      backoff: () => 0.2,
      onnotice: () => {},
      onparameter: (name: string, value: string) => {
        role.report(name, value);
        if (role.isReadOnly && this.#sql === sql) {
          this.#leaving ??= setTimeout(() => this.#leave(), readOnlyStayMs);
        }
      },
      connection: { application_name: "lead-intake listen" },
    });
    this.#sql = sql;
    this.#heardAtMs = performance.now();
    const onHeard = (node: string) => {
      if (this.#sql !== sql) return;
      this.#heardAtMs = performance.now();
      if (node !== this.#options.node) this.#options.onHint();
    };
    // Notified while nobody listened: nothing of it is kept, so every new beginning is a hint.
    sql.listen("outbox", onHeard, () => onHeard("")).catch(() => {
      // Not connected yet; the next beat finds the silence and connects anew.
    });
  }

  #leave(): void {
    void this.#sql?.end({ timeout: 0 }).catch(() => {});
    this.#connect();
  }

  async #beat(): Promise<void> {
    if (performance.now() - this.#heardAtMs > silenceMaxMs) this.#leave();
    try {
      await this.#options.pool.run(
        deadlineMs,
        (sql) => sql`select pg_notify('outbox', ${this.#options.node})`,
      );
    } catch {
      // The heartbeat reports that the store is away.
    }
  }

  /** Stops listening. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#leaving);
    const sql = this.#sql;
    this.#sql = null;
    await sql?.end({ timeout: 0 }).catch(() => {});
  }
}
