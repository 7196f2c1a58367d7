/**
 * A pool of PostgreSQL connections that adds to postgres.js a deadline for every statement, and new connections after
 * a missed deadline, a lost connection, or a read-only server.
 *
 * Every function of the store throws what Pool.run throws. There are no transactions: every durable write is one call
 * of a SQL function, because a connection that dies inside `sql.begin` can commit a later statement outside its
 * transaction (postgres.js issues 1154, 1186, 1208, 1216).
 */

import type postgres from "postgres";
import { ConnectionSet, type PoolOptions, reconnectPauseMs } from "./connection_set.ts";
import { asUnavailable, describeError, isConnectionLoss, Unavailable } from "./unavailable.ts";

export { describeError, Unavailable };
export type { PoolOptions };

// Deadline while the store is known to be unavailable.
const awayDeadlineMs = 500;
// How long a statement may run after one of its connections ended, until it counts as forgotten by the driver.
const forgottenAfterMs = 500;
// The driver's connect_timeout.
const connectDeadlineMs = 2_000;
/**
 * How long connections to a read-only server are kept before the primary is looked up again.
 *
 * Chosen: 1 s, because leads are to be accepted within two seconds of a failover, without flooding a server with
 * logins.
 */
export const readOnlyStayMs = 1_000;

/** Connections to one database for one purpose, so that slow statements elsewhere do not delay them. */
export class Pool {
  readonly #options: PoolOptions;
  #connections: ConnectionSet;
  #closed = false;
  /** The last statement to end got no answer. */
  #silent = false;

  #warnings = 0;

  constructor(options: PoolOptions) {
    this.#options = {
      ...options,
      onWarning: (message) => {
        this.#warnings += 1;
        options.onWarning?.(message);
      },
    };
    this.#connections = this.#open();
  }

  /** Whether a pooler is in between, so that no session setting holds. */
  get isPooled(): boolean {
    return this.#options.primary.address.isPooled;
  }

  #open(afterMs = 0): ConnectionSet {
    const connections: ConnectionSet = new ConnectionSet(this.#options, {
      afterMs,
      onClose: () => this.#checkForgotten(connections),
    });
    return connections;
  }

  /**
   * Runs one statement and returns its rows.
   *
   * @throws {Unavailable} after `deadlineMs`, when the store is unavailable or read-only, or when a warning came with
   * the commit (a cancelled wait for a synchronous standby): whether the statement took effect is unknown
   * @throws {postgres.PostgresError} when the server refuses the statement, which had no effect
   */
  async run<T>(deadlineMs: number, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#closed) throw new Unavailable("the pool is closed");
    const isAway = this.#options.isAway?.() ?? false;
    if (isAway && this.#silent) throw new Unavailable("the store is unavailable");
    const boundMs = isAway ? Math.min(deadlineMs, awayDeadlineMs) : deadlineMs;
    const connections = this.#current();
    const warningsBefore = this.#warnings;
    let isLate = false;
    const answered = startDeadline(boundMs, () => {
      isLate = true;
      this.#silent = true;
      this.#replace(connections);
    });
    try {
      const rows = await connections.run(statement);
      this.#silent = false;
      if (this.#warnings !== warningsBefore) throw new Unavailable("the commit returned a warning");
      return rows;
    } catch (error) {
      if (isConnectionLoss(error)) this.#replace(connections, reconnectPauseMs);
      if (isLate) throw new Unavailable(`no answer within ${boundMs} ms`);
      throw asUnavailable(error) ?? error;
    } finally {
      answered();
    }
  }

  /** Opens a connection ahead of use. The first statement reports any failure. */
  async connect(): Promise<void> {
    await this.run(connectDeadlineMs, (sql) => sql`select`).catch(() => {});
  }

  #current(): ConnectionSet {
    const { isReadOnly, openedAtMs } = this.#connections;
    if (isReadOnly && performance.now() - openedAtMs >= readOnlyStayMs) {
      this.#connections.invalidatePrimary();
      this.renew(awayDeadlineMs);
    }
    return this.#connections;
  }

  // A statement on a silent connection never settles, and after a lost connection postgres.js 3.4.9 may send the next
  // one into the dead socket and wait forever (issue 1130): discard the connections.
  #replace(connections: ConnectionSet, pauseMs = 0): void {
    if (this.#connections !== connections || this.#closed) return;
    connections.invalidatePrimary();
    this.#connections = this.#open(pauseMs);
    void connections.discard();
  }

  /** Gives every further statement a new connection; statements under way have `graceMs` milliseconds to finish. */
  renew(graceMs: number): void {
    if (this.#closed) return;
    const old = this.#connections;
    this.#connections = this.#open();
    if (old.running.length === 0) void old.discard();
    else setTimeout(() => void old.discard(), graceMs);
  }

  /**
   * Moves to the new primary, failing what runs on the old one; also renews idle connections, whose name may have
   * moved.
   */
  followPrimary(): void {
    if (this.#connections.isOnOldPrimary) this.#replace(this.#connections);
    else if (this.#connections.running.length === 0) this.renew(0);
  }

  // Another form of the same bug: a statement issued on an idle connection as it ends is forgotten.
  #checkForgotten(connections: ConnectionSet): void {
    const suspects = connections.running;
    if (suspects.length === 0) return;
    setTimeout(() => {
      if (connections.hasAny(suspects)) this.#replace(connections);
    }, forgottenAfterMs);
  }

  /** Discards the connections when a statement has run for `ageMs` milliseconds or longer. */
  replaceStuck(ageMs: number): void {
    const nowMs = performance.now();
    const stuck = this.#connections.running.some(({ startedAtMs }) => nowMs - startedAtMs >= ageMs);
    if (stuck) this.#replace(this.#connections);
  }

  /** Closes the connections; statements under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.discard();
  }
}

// A pause of the process uses up at most one slice of a deadline.
const sliceMs = 250;

/**
 * Calls `giveUp` after `ms` milliseconds in which an answer could have been read, unless the returned function is called.
 *
 * Chosen: slices, with a look at the sockets after each, because a busy process finds its timers due before the answers
 * that have arrived.
 */
function startDeadline(ms: number, giveUp: () => void): () => void {
  let leftMs = ms;
  let isOff = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    if (isOff) return;
    if (leftMs <= 0) return giveUp();
    const waitMs = Math.min(leftMs, sliceMs);
    leftMs -= waitMs;
    timer = setTimeout(() => setImmediate(() => setImmediate(wait)), waitMs);
  };
  wait();
  return () => {
    isOff = true;
    clearTimeout(timer);
  };
}
