/**
 * A pool of PostgreSQL connections with what postgres.js lacks: a deadline on every statement, and fresh connections
 * after one has fired, after one was lost, and when the server takes no writes.
 *
 * There is no transaction here: every durable write is one statement, a call of a SQL function. A
 * connection that dies inside `sql.begin` can commit a later statement outside its transaction
 * (postgres.js issues 1154, 1186, 1208, 1216).
 *
 * @module
 */

import type postgres from "postgres";
import { whenUnanswered } from "./deadline.ts";
import { Generation, type PoolOptions, reconnectPauseMs } from "./generation.ts";
import { asUnavailable, describeError, isConnectionLoss, Unavailable } from "./unavailable.ts";

export { describeError, Unavailable };
export type { PoolOptions };

// While the store is known to be away: what may be asked at all is answered in milliseconds, or not.
const awayDeadlineMs = 500;
// After a connection has ended: how long a statement from before may take until it counts as forgotten.
const forgottenAfterMs = 500;
// As the driver gives it (connect_timeout).
const connectDeadlineMs = 2_000;
/**
 * How long connections to a server that takes no writes are kept: after a fail-over the old primary may live on, and
 * every new connection looks up again who has the service's name.
 *
 * Chosen: a second, because leads are to be accepted within two of a fail-over, and a server that is meant to be
 * read-only is not to be flooded with logins.
 */
export const readOnlyStayMs = 1_000;

/** Connections to one database for one purpose; others' slow statements do not hold them up. */
export class Pool {
  readonly #options: PoolOptions;
  #generation: Generation;
  #closed = false;
  /** The last statement that ended got no answer. */
  #silent = false;

  /** Notices of the severity WARNING that came with statements, since the start. */
  #warnings = 0;

  constructor(options: PoolOptions) {
    this.#options = {
      ...options,
      onWarning: (message) => {
        this.#warnings += 1;
        options.onWarning?.(message);
      },
    };
    this.#generation = this.#open();
  }

  /** There is a pooler in between, and no setting of a connection holds. */
  get isPooled(): boolean {
    return this.#options.primary.address.isPooled;
  }

  #open(afterMs = 0): Generation {
    const generation: Generation = new Generation(this.#options, {
      afterMs,
      onClose: () => this.#suspect(generation),
    });
    return generation;
  }

  /**
   * Runs one statement and waits for its rows at most `deadlineMs` milliseconds.
   *
   * @throws {Unavailable} when the store does not answer in time, is away or does not write, or answers with a warning:
   * a wait for a synchronous standby that was cancelled has committed, and a fail-over may undo it; whether the statement
   * has taken effect is then unknown
   * @throws {postgres.PostgresError} when the server refuses the statement; it has had no effect
   */
  async run<T>(deadlineMs: number, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#closed) throw new Unavailable("the pool is closed");
    const isAway = this.#options.isAway?.() ?? false;
    if (isAway && this.#silent) throw new Unavailable("the store is away");
    const boundMs = isAway ? Math.min(deadlineMs, awayDeadlineMs) : deadlineMs;
    const generation = this.#current();
    const warningsBefore = this.#warnings;
    let isLate = false;
    const answered = whenUnanswered(boundMs, () => {
      isLate = true;
      this.#silent = true;
      this.#leave(generation);
    });
    try {
      const rows = await generation.run(statement);
      this.#silent = false;
      if (this.#warnings !== warningsBefore) throw new Unavailable("the commit came back with a warning");
      return rows;
    } catch (error) {
      if (isConnectionLoss(error)) this.#leave(generation, reconnectPauseMs);
      if (isLate) throw new Unavailable(`no answer within ${boundMs} ms`);
      throw asUnavailable(error) ?? error;
    } finally {
      answered();
    }
  }

  /** Opens a connection before it is used. What goes wrong is found again by whoever uses it. */
  async connect(): Promise<void> {
    await this.run(connectDeadlineMs, (sql) => sql`select`).catch(() => {});
  }

  /** The connections to use. The statements of those that are left for it have a moment to be answered. */
  #current(): Generation {
    const { isReadOnly, openedAtMs } = this.#generation;
    if (isReadOnly && performance.now() - openedAtMs >= readOnlyStayMs) {
      this.#generation.doubt();
      this.renew(awayDeadlineMs);
    }
    return this.#generation;
  }

  // A statement on a silent connection never settles, and after a lost connection postgres.js 3.4.9 may send the
  // next statement into the dead socket and wait for ever (a reset tells of the error before it tells of the end;
  // upstream issue 1130): leave the connection behind.
  #leave(generation: Generation, pauseMs = 0): void {
    if (this.#generation !== generation || this.#closed) return;
    generation.doubt();
    this.#generation = this.#open(pauseMs);
    void generation.abandon();
  }

  /**
   * Gives every further statement a new connection: after an outage those there are may be dead without having
   * said so. Statements under way have `graceMs` milliseconds to be answered.
   */
  renew(graceMs: number): void {
    if (this.#closed) return;
    const old = this.#generation;
    this.#generation = this.#open();
    if (old.running.length === 0) void old.abandon();
    else setTimeout(() => void old.abandon(), graceMs);
  }

  /**
   * Leaves the server that took writes before another one was found; what is under way there fails. A connection that nobody
   * uses is left too: the same name may be another server's now, and the old one would keep it until somebody asks.
   */
  followPrimary(): void {
    if (this.#generation.isElsewhere) this.#leave(this.#generation);
    else if (this.#generation.running.length === 0) this.renew(0);
  }

  // The same turn between error and end, on a connection that was idle: the statement issued in it is forgotten.
  #suspect(generation: Generation): void {
    const suspects = generation.running;
    if (suspects.length === 0) return;
    setTimeout(() => {
      if (generation.hasAny(suspects)) this.#leave(generation);
    }, forgottenAfterMs);
  }

  /** Opens new connections when a statement has been under way for `ageMs` milliseconds or longer, and fails it. */
  leaveStuck(ageMs: number): void {
    const nowMs = performance.now();
    const stuck = this.#generation.running.some(({ startedAtMs }) => nowMs - startedAtMs >= ageMs);
    if (stuck) this.#leave(this.#generation);
  }

  /** Closes the connections; statements under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#generation.abandon();
  }
}
