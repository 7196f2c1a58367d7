/**
 * Listens for the hint that another node has committed something to deliver.
 *
 * A LISTEN connection can be half open: the other side is gone and nobody says so. So the listener
 * sends itself a notification now and then, and connects anew when none comes back. It also leaves a server that takes
 * no writes, as the pools do: after a fail-over the notifications are another server's.
 *
 * @module
 */

import type postgres from "postgres";
import type { ServerAt } from "../address.ts";
import { connectTo } from "../connect.ts";
import { ServerRole } from "../generation.ts";
import { type Pool, readOnlyStayMs } from "../pool.ts";
import type { Primary } from "../primary.ts";

/** What the listener is told. */
export interface ListenerOptions {
  /** The server to listen on. */
  readonly primary: Primary;
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
  #server: ServerAt | null = null;
  #attempt = 0;
  #heardAtMs = 0;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#connect();
    this.#timer = setInterval(() => void this.#beat(), beatMs);
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
    this.#heardAtMs = performance.now();
    this.#attempt += 1;
    const attempt = this.#attempt;
    const { primary } = this.#options;
    // While there is none, the next beat finds the silence and looks again.
    const server = await primary.find().catch(() => null);
    if (server === null || attempt !== this.#attempt) return;
    this.#server = server;
    const role = new ServerRole();
    const sql = connectTo(primary.address, server, {
      max: 1,
      connect_timeout: 2,
      backoff: () => 0.2,
      // It would ask for them on each new connection, in a statement whose failure nobody catches: a connection lost just
      // then ended the process. Nothing here has a type.
      fetch_types: false,
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
    const { primary } = this.#options;
    if (this.#server !== null) primary.doubt(this.#server);
    void this.#sql?.end({ timeout: 0 }).catch(() => {});
    this.#sql = null;
    void this.#connect();
  }

  // Another server takes writes now, and the notifications are its.
  #isElsewhere(): boolean {
    const { known } = this.#options.primary;
    return known !== null && known !== this.#server;
  }

  async #beat(): Promise<void> {
    if (performance.now() - this.#heardAtMs > silenceMaxMs || this.#isElsewhere()) this.#leave();
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
    this.#attempt += 1;
    const sql = this.#sql;
    this.#sql = null;
    await sql?.end({ timeout: 0 }).catch(() => {});
  }
}
