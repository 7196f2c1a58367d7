/**
 * Listens for notifications that another node has committed something to deliver.
 *
 * A LISTEN connection can be half open, so the listener notifies itself regularly and reconnects when nothing comes
 * back. Like the pools, it leaves a server that takes no writes.
 */

import type postgres from "postgres";
import type { ServerAt } from "../address.ts";
import { connectTo } from "../connect.ts";
import { ServerRole } from "../connection_set.ts";
import { type Pool, readOnlyStayMs } from "../pool.ts";
import type { Primary } from "../primary.ts";

export interface ListenerOptions {
  readonly primary: Primary;
  /** For the notifications to itself; needs write access. */
  readonly pool: Pool;
  /** Names this process; its own notifications cause no hint. */
  readonly node: string;
  /** Another node has committed, or listening (re)started and may have missed something. */
  readonly onHint: () => void;
}

// A half-open connection is noticed within 15 s: the silence, plus one beat until the check. Two beats fit in the
// silence, so that one failed beat does not reconnect.
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
  #reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#connect();
    this.#timer = setInterval(() => void this.#beat(), beatMs);
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = undefined;
    this.#heardAtMs = performance.now();
    this.#attempt += 1;
    const attempt = this.#attempt;
    const { primary } = this.#options;
    // If there is none, the next beat finds the silence and searches again.
    const server = await primary.find().catch(() => null);
    if (server === null || attempt !== this.#attempt) return;
    this.#server = server;
    const role = new ServerRole();
    const sql = connectTo(primary.address, server, {
      max: 1,
      connect_timeout: 2,
      backoff: () => 0.2,
      // The driver would query array types in a statement whose failure ends the process; nothing here has a type.
      fetch_types: false,
      onnotice: () => {},
      onparameter: (name: string, value: string) => {
        role.report(name, value);
        if (role.isReadOnly && this.#sql === sql) {
          this.#reconnectTimer ??= setTimeout(() => this.#reconnect(), readOnlyStayMs);
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
    // Notifications are lost while nobody listens, so each start is a hint.
    sql.listen("outbox", onHeard, () => onHeard("")).catch(() => {
      // Not connected yet; the next beat finds the silence and reconnects.
    });
  }

  #reconnect(): void {
    const { primary } = this.#options;
    if (this.#server !== null) primary.invalidate(this.#server);
    void this.#sql?.end({ timeout: 0 }).catch(() => {});
    this.#sql = null;
    void this.#connect();
  }

  // Another server takes writes now, and sends the notifications.
  #isOnOldPrimary(): boolean {
    const { current } = this.#options.primary;
    return current !== null && current !== this.#server;
  }

  async #beat(): Promise<void> {
    if (performance.now() - this.#heardAtMs > silenceMaxMs || this.#isOnOldPrimary()) this.#reconnect();
    try {
      await this.#options.pool.run(
        deadlineMs,
        (sql) => sql`select pg_notify('outbox', ${this.#options.node})`,
      );
    } catch {
      // The heartbeat reports the outage.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#reconnectTimer);
    this.#attempt += 1;
    const sql = this.#sql;
    this.#sql = null;
    await sql?.end({ timeout: 0 }).catch(() => {});
  }
}
