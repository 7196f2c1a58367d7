/**
 * A pool of PostgreSQL connections with what postgres.js lacks: a deadline on every statement, and a
 * fresh pool after one has fired.
 *
 * There is no transaction here: every durable write is one statement, a call of a SQL function. A
 * connection that dies inside `sql.begin` can commit a later statement outside its transaction
 * (postgres.js issues 1154, 1186, 1208, 1216).
 *
 * @module
 */

import postgres from "postgres";

/** The store did not answer, or will not write. What a statement under way has done is unknown. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** How a pool connects. */
export interface PoolOptions {
  readonly databaseUrl: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly connectionsMax: number;
  /** The server gives up a statement after this long, so that what we gave up does not commit much later. */
  readonly statementTimeoutMs: number;
  /**
   * Whether the store is known to be away. While it is, a statement waits for half a second at most, and after
   * one without an answer all fail at once.
   */
  readonly isAway?: () => boolean;
  /** Further settings of the server for these connections, such as the planner's. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Called with every notice of the severity WARNING that comes with a statement. */
  readonly onWarning?: (message: string) => void;
}

/** Which SQLSTATEs say "not accepting" rather than "this statement is wrong". */
const unavailableStates = /^(08|53|57P0|57014|58|25006|55P03|28|3D000)/;
// After a lost connection, and between attempts to connect: bounds how often a server that is away is asked.
const reconnectPauseMs = 200;
// While the store is known to be away: what may be asked at all is answered in milliseconds, or not.
const awayDeadlineMs = 500;
// After a connection has ended: how long a statement from before may take until it counts as forgotten.
const forgottenAfterMs = 500;
const connectionCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EAI_AGAIN",
]);

/**
 * The SQLSTATE or connection code of an error, and the constraint where there is one: all of it that
 * may be logged, since `detail`, `parameters` and `args` hold personal data.
 */
export function describeError(error: unknown): string {
  if (error instanceof postgres.PostgresError) {
    const constraint = error.constraint_name === undefined ? "" : ` (${error.constraint_name})`;
    return `SQLSTATE ${error.code}${constraint}: ${error.routine ?? "no routine"}`;
  }
  if (error instanceof Unavailable) return error.message;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unexpected error";
}

/** Whether an error is about the connection, and not an answer of the server. */
function isConnectionLoss(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return !(error instanceof postgres.PostgresError) && typeof code === "string" && connectionCodes.has(code);
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof Unavailable) return true;
  if (error instanceof postgres.PostgresError) return unavailableStates.test(error.code);
  return isConnectionLoss(error);
}

/** Connections that were opened together and are left behind together. */
interface Generation {
  readonly sql: postgres.Sql;
  /** Resolves when connections may be opened. */
  readonly opens: Promise<void>;
  /** Rejects when the generation is left behind; never resolves. */
  readonly left: Promise<never>;
  readonly leave: () => void;
}

function abandon(generation: Generation): void {
  generation.leave();
  generation.sql.end({ timeout: 0 }).catch(() => {});
}

/** Connections to one database for one purpose; others' slow statements do not hold them up. */
export class Pool {
  readonly #options: PoolOptions;
  /** When each statement under way began, by `performance.now()`. */
  readonly #running = new Map<symbol, number>();
  #generation: Generation;
  #closed = false;
  /** The last statement that ended got no answer. */
  #silent = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#generation = this.#open();
  }

  // postgres.js asks for the array types on each new connection, in a statement whose failure nobody catches: a
  // connection lost just then would end the process. They are the same everywhere, so the first answer is kept.
  static #arrayTypes: postgres.Sql["options"] | null = null;

  #open(afterMs = 0): Generation {
    const known = Pool.#arrayTypes;
    const sql = postgres(this.#options.databaseUrl, {
      max: this.#options.connectionsMax,
      connect_timeout: 2,
      // In seconds; the default climbs to 20, and requests would wait past their deadline.
      backoff: () => reconnectPauseMs / 1000,
      max_lifetime: 1800,
      idle_timeout: 0,
      fetch_types: known === null,
      onclose: () => this.#suspect(generation),
      onnotice: (notice) => {
        // Not about a statement: the operating system's collations have changed since the database was made.
        if (notice.routine === "CheckMyDatabase") return;
        if (notice.severity === "WARNING") this.#options.onWarning?.(notice.message ?? "");
      },
      connection: {
        application_name: `lead-intake ${this.#options.name}`,
        synchronous_commit: "on",
        // What accept and revoke rest on: a statement sees what committed before it began, not before its transaction.
        default_transaction_isolation: "read committed",
        statement_timeout: this.#options.statementTimeoutMs,
        // A statement whose client has gone is given up, even while it waits for a lock.
        client_connection_check_interval: 1_000,
        ...this.#options.settings,
      },
    });
    if (known !== null) {
      Object.assign(sql.options.parsers, known.parsers);
      Object.assign(sql.options.serializers, known.serializers);
    }
    const { promise: left, reject } = Promise.withResolvers<never>();
    left.catch(() => {});
    const opens = afterMs === 0 ? Promise.resolve() : new Promise<void>((open) => setTimeout(open, afterMs));
    const leave = () => reject(new Unavailable("the connection was left behind"));
    const generation: Generation = { sql, opens, left, leave };
    return generation;
  }

  /**
   * Runs one statement and waits for its rows at most `deadlineMs` milliseconds.
   *
   * @throws {Unavailable} when the store does not answer in time, is away or does not write; whether
   * the statement has taken effect is then unknown
   * @throws {postgres.PostgresError} when the server refuses the statement; it has had no effect
   */
  async run<T>(deadlineMs: number, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#closed) throw new Unavailable("the pool is closed");
    const isAway = this.#options.isAway?.() ?? false;
    if (isAway && this.#silent) throw new Unavailable("the store is away");
    const boundMs = isAway ? Math.min(deadlineMs, awayDeadlineMs) : deadlineMs;
    const generation = this.#generation;
    const statementId = Symbol();
    this.#running.set(statementId, performance.now());
    let late = false;
    const giveUp = () => {
      if (!this.#running.has(statementId)) return;
      late = true;
      this.#silent = true;
      this.#leave(generation);
    };
    // A process that was busy finds its timers due before it has looked at its sockets: the answer may be there.
    const timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), boundMs);
    try {
      const answer = generation.opens.then(() => statement(generation.sql));
      const rows = await Promise.race([answer, generation.left]);
      this.#silent = false;
      Pool.#arrayTypes ??= generation.sql.options;
      // For the connections that this generation has yet to open.
      generation.sql.options.fetch_types = false;
      return rows;
    } catch (error) {
      if (isConnectionLoss(error)) this.#leave(generation, reconnectPauseMs);
      if (late) throw new Unavailable(`no answer within ${boundMs} ms`);
      if (!isUnavailable(error)) throw error;
      throw error instanceof Unavailable ? error : new Unavailable(describeError(error), { cause: error });
    } finally {
      clearTimeout(timer);
      this.#running.delete(statementId);
    }
  }

  // A statement on a silent connection never settles and cannot be cancelled, and after a lost connection
  // postgres.js 3.4.9 may send the next statement into the dead socket and wait for ever (a reset tells of the
  // error before it tells of the end; upstream issue 1130): leave the connection behind.
  #leave(generation: Generation, pauseMs = 0): void {
    if (this.#generation !== generation || this.#closed) return;
    this.#generation = this.#open(pauseMs);
    abandon(generation);
  }

  /**
   * Gives every further statement a new connection: after an outage those there are may be dead without having
   * said so. Statements under way have `graceMs` milliseconds to be answered.
   */
  renew(graceMs: number): void {
    if (this.#closed) return;
    const old = this.#generation;
    this.#generation = this.#open();
    setTimeout(() => abandon(old), graceMs);
  }

  // The same turn between error and end, on a connection that was idle: the statement issued in it is forgotten.
  #suspect(generation: Generation): void {
    const suspects = [...this.#running.keys()];
    if (suspects.length === 0) return;
    setTimeout(() => {
      if (suspects.some((statement) => this.#running.has(statement))) this.#leave(generation);
    }, forgottenAfterMs);
  }

  /** Opens new connections when a statement has been under way for `ageMs` milliseconds or longer, and fails it. */
  leaveStuck(ageMs: number): void {
    const nowMs = performance.now();
    const stuck = [...this.#running.values()].some((startedAtMs) => nowMs - startedAtMs >= ageMs);
    if (!stuck) return;
    this.#silent = true;
    this.#leave(this.#generation);
  }

  /** Closes the connections; statements under way have `graceSeconds` to finish. */
  async close(graceSeconds = 0): Promise<void> {
    this.#closed = true;
    await this.#generation.sql.end({ timeout: graceSeconds }).catch(() => {});
  }
}
