/**
 * Gives every postgres.js statement a deadline, and opens new connections after a missed deadline, a lost connection or
 * a read-only response.
 *
 * Unless documented otherwise, functions in src/store throw what Pool.run throws. Every durable write is one call to a
 * SQL function, because postgres.js may commit a later statement outside its transaction if a connection is lost inside
 * `sql.begin` (issues 1154, 1186, 1208, 1216).
 */

import type postgres from "postgres";
import { ConnectionSet, type PoolOptions, reconnectPauseMs } from "./connection_set.ts";
import { asUnavailable, describeError, isConnectionLoss, Unavailable } from "./unavailable.ts";

export { describeError, Unavailable };
export type { PoolOptions };

// The deadline while the store is known to be unavailable.
const outageDeadlineMs = 500;
// A statement that is still running this long after a connection ended counts as lost by the driver.
const lostAfterMs = 500;
// The driver's connect_timeout (connection_set.ts).
const connectDeadlineMs = 2_000;
/**
 * How long connections to a read-only server are used before the next search for the primary.
 *
 * Chosen: 1 s, so that leads are accepted within two seconds of a failover, but servers are not flooded with logins.
 */
export const readOnlyUseMs = 1_000;

/** Connections to one database for one purpose, so that slow statements for other purposes do not delay its statements. */
export class Pool {
  readonly #options: PoolOptions;
  #connections: ConnectionSet;
  #isClosed = false;
  /** Whether a statement got no response, and none has succeeded since. */
  #isSilent = false;
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

  /** Whether the database URL is a pooler's, so that session settings have no effect. */
  get isPooled(): boolean {
    return this.#options.primary.address.isPooled;
  }

  #open(afterMs = 0): ConnectionSet {
    const connections: ConnectionSet = new ConnectionSet(this.#options, {
      afterMs,
      onClose: () => this.#checkLost(connections),
    });
    return connections;
  }

  /**
   * Runs one statement and returns its rows.
   *
   * @throws {Unavailable} after `deadlineMs`, when the store is unavailable or read-only, when the pool is closed, or
   * when the server sent a warning (a canceled wait for a synchronous standby): the statement may have taken effect
   * @throws {postgres.PostgresError} when the server refuses the statement, which had no effect
   */
  async run<T>(deadlineMs: number, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#isClosed) throw new Unavailable("the pool is closed");
    const isUnavailable = this.#options.isUnavailable?.() ?? false;
    if (isUnavailable && this.#isSilent) throw new Unavailable("the store is unavailable");
    const boundMs = isUnavailable ? Math.min(deadlineMs, outageDeadlineMs) : deadlineMs;
    const connections = this.#current();
    const warningsBefore = this.#warnings;
    let isLate = false;
    const stopDeadline = startDeadline(boundMs, () => {
      isLate = true;
      this.#isSilent = true;
      this.#replace(connections);
    });
    try {
      const rows = await connections.run(statement);
      this.#isSilent = false;
      if (this.#warnings !== warningsBefore) throw new Unavailable("the commit returned a warning");
      return rows;
    } catch (error) {
      if (isConnectionLoss(error)) this.#replace(connections, reconnectPauseMs);
      if (isLate) throw new Unavailable(`no response within ${boundMs} ms`);
      throw asUnavailable(error) ?? error;
    } finally {
      stopDeadline();
    }
  }

  /** Opens a connection ahead of use. Ignores a failure, which the first statement will report. */
  async connect(): Promise<void> {
    await this.run(connectDeadlineMs, (sql) => sql`select`).catch(() => {});
  }

  #current(): ConnectionSet {
    const { isReadOnly, openedAtMs } = this.#connections;
    if (isReadOnly && performance.now() - openedAtMs >= readOnlyUseMs) {
      this.#connections.invalidatePrimary();
      this.renew(outageDeadlineMs);
    }
    return this.#connections;
  }

  // A statement on a silent connection never settles, and after a lost connection, postgres.js 3.4.9 may write the next
  // statement to the dead socket and wait forever (issue 1130).
  #replace(connections: ConnectionSet, pauseMs = 0): void {
    if (this.#connections !== connections || this.#isClosed) return;
    connections.invalidatePrimary();
    this.#connections = this.#open(pauseMs);
    void connections.discard();
  }

  /** Opens new connections for further statements; running statements have `graceMs` to finish. */
  renew(graceMs: number): void {
    if (this.#isClosed) return;
    const old = this.#connections;
    this.#connections = this.#open();
    if (old.running.length === 0) void old.discard();
    else setTimeout(() => void old.discard(), graceMs);
  }

  /**
   * Moves to a new primary and fails the statements on the old one. Without a new primary, renews the connections if no
   * statement is running, because the server's host name may have a new address.
   */
  followPrimary(): void {
    if (this.#connections.isOnOldPrimary) this.#replace(this.#connections);
    else if (this.#connections.running.length === 0) this.renew(0);
  }

  // postgres.js 3.4.9 loses a statement that it queued on an idle connection just before the connection ends (issue 1130).
  #checkLost(connections: ConnectionSet): void {
    const suspects = connections.running;
    if (suspects.length === 0) return;
    setTimeout(() => {
      if (connections.hasAny(suspects)) this.#replace(connections);
    }, lostAfterMs);
  }

  /** Discards the connections if a statement has run for `ageMs` or longer. */
  replaceStuck(ageMs: number): void {
    const nowMs = performance.now();
    const stuck = this.#connections.running.some(({ startedAtMs }) => nowMs - startedAtMs >= ageMs);
    if (stuck) this.#replace(this.#connections);
  }

  /** Closes the connections; running statements fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connections.discard();
  }
}

// A pause of the process uses up at most one slice of a deadline.
const sliceMs = 250;

/**
 * Calls `giveUp` after `ms` milliseconds in which the process could read responses, unless the returned function is
 * called first.
 *
 * Chosen: slices, each followed by a poll of the sockets, because a busy process runs its timers before it reads the
 * responses that have arrived.
 */
function startDeadline(ms: number, giveUp: () => void): () => void {
  let leftMs = ms;
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    if (isStopped) return;
    if (leftMs <= 0) return giveUp();
    const waitMs = Math.min(leftMs, sliceMs);
    leftMs -= waitMs;
    timer = setTimeout(() => setImmediate(() => setImmediate(wait)), waitMs);
  };
  wait();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
