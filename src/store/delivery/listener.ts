/**
 * Listens for notifications that another process has committed an event to deliver.
 *
 * A LISTEN connection can be half open, so the listener notifies itself regularly and reconnects if nothing arrives.
 * Like the pools, the listener disconnects from a server that rejects writes.
 */

import type postgres from "postgres";
import type { ServerEndpoint } from "../address.ts";
import { connectTo } from "../connect.ts";
import { ServerRole } from "../connection_set.ts";
import { type Pool, readOnlyUseMs } from "../pool.ts";
import type { Primary } from "../primary.ts";

export interface ListenerOptions {
  readonly primary: Primary;
  /** The pool through which the listener notifies itself. */
  readonly pool: Pool;
  /** Identifies this process, whose own notifications do not call `onHint`. */
  readonly node: string;
  /** Called when another process has committed, or when notifications may have been missed. */
  readonly onHint: () => void;
}

// Each beat checks the silence, so a half-open connection is detected within 15 s (the maximum silence plus one beat).
// One failed beat does not cause a reconnection.
const beatMs = 4_000;
const silenceMaxMs = 10_000;
const deadlineMs = 2_000;

export class OutboxListener {
  readonly #options: ListenerOptions;
  #sql: postgres.Sql | null = null;
  #server: ServerEndpoint | null = null;
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
    // Without a server, a later beat detects the silence and searches again.
    const server = await primary.find().catch(() => null);
    if (server === null || attempt !== this.#attempt) return;
    this.#server = server;
    const role = new ServerRole();
    const sql = connectTo(primary.address, server, {
      max: 1,
      connect_timeout: 2,
      backoff: () => 0.2,
      // The failure of the driver's own query for array types would end the process.
      fetch_types: false,
      onnotice: () => {},
      onparameter: (name: string, value: string) => {
        role.report(name, value);
        if (role.isReadOnly && this.#sql === sql) {
          this.#reconnectTimer ??= setTimeout(() => this.#reconnect(), readOnlyUseMs);
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
    // Notifications before each LISTEN may have been missed.
    sql.listen("outbox", onHeard, () => onHeard("")).catch(() => {
      // The connection failed; a later beat detects the silence and reconnects.
    });
  }

  #reconnect(): void {
    const { primary } = this.#options;
    if (this.#server !== null) primary.invalidate(this.#server);
    void this.#sql?.end({ timeout: 0 }).catch(() => {});
    this.#sql = null;
    void this.#connect();
  }

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
