/**
 * Connections of a pool that are opened and discarded together. Adds to postgres.js the server's reported role, and
 * the cancellation of statements whose connection is discarded.
 */

import { Buffer } from "node:buffer";
import { connect } from "node:net";
import type postgres from "postgres";
import { type ServerAt, socketPath } from "./address.ts";
import { connectTo } from "./connect.ts";
import type { Primary } from "./primary.ts";
import { refusedWith, Unavailable } from "./unavailable.ts";

export interface PoolOptions {
  /** Shared by the pools of a process. */
  readonly primary: Primary;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly connectionsMax: number;
  /** The server cancels a statement after this time, so that one we gave up does not commit much later. */
  readonly statementTimeoutMs: number;
  /** Whether the store is known to be unavailable, which shortens deadlines and fails statements at once. */
  readonly isAway?: () => boolean;
  /** More server settings for these connections, such as the planner's. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Receives every notice of severity WARNING. */
  readonly onWarning?: (message: string) => void;
}

/** Pause after a lost connection and between attempts to connect. */
export const reconnectPauseMs = 200;

// Share of a statement's time in which it waits for a lock: the failure then names the lock (55P03) instead of a slow
// server (57014).
const lockTimeShare = 0.8;

/** Tracks from the parameters that a server reports whether it takes writes. */
export class ServerRole {
  #isStandby = false;
  #isHeldToReading = false;

  /** A parameter as postgres.js reports it; PostgreSQL 14 and later report both. */
  report(parameter: string, value: string): void {
    if (parameter === "in_hot_standby") this.#isStandby = value === "on";
    if (parameter === "default_transaction_read_only") this.#isHeldToReading = value === "on";
  }

  get isReadOnly(): boolean {
    return this.#isStandby || this.#isHeldToReading;
  }
}

interface Running {
  readonly startedAtMs: number;
  query: unknown;
  /** Fails the statement for its caller. */
  fail: (error: Unavailable) => void;
}

/** Connections of a pool to one server, opened on demand. */
export class ConnectionSet {
  readonly openedAtMs: number = performance.now();
  readonly #options: PoolOptions;
  readonly #onClose: () => void;
  /** Resolves when connections may be opened. */
  readonly #opens: Promise<void>;
  readonly #running = new Set<Running>();
  readonly #role = new ServerRole();
  #wasRefusedAsReadOnly = false;
  #isDiscarded = false;
  #server: ServerAt | null = null;
  #sql: postgres.Sql | null = null;

  // postgres.js queries the array types on each new connection, and nobody handles that query's failure (see
  // isDriverTypeQuery). They are the same everywhere, so the first answer is kept.
  static #arrayTypes: postgres.Sql["options"] | null = null;

  /** `onClose` runs when one of the connections has ended. */
  constructor(options: PoolOptions, { afterMs, onClose }: { afterMs: number; onClose: () => void }) {
    this.#options = options;
    this.#onClose = onClose;
    this.#opens = afterMs === 0 ? Promise.resolve() : new Promise<void>((open) => setTimeout(open, afterMs));
  }

  async #open(): Promise<postgres.Sql> {
    await this.#opens;
    if (this.#sql !== null) return this.#sql;
    const server = await this.#options.primary.find();
    if (this.#isDiscarded) throw discarded();
    this.#server = server;
    return this.#sql ??= this.#connect(server);
  }

  #connect(server: ServerAt): postgres.Sql {
    const { primary, name, connectionsMax, statementTimeoutMs, onWarning, settings } = this.#options;
    const known = ConnectionSet.#arrayTypes;
    const sql = connectTo(primary.address, server, {
      max: connectionsMax,
      connect_timeout: 2,
      // In seconds. The default grows to 20, longer than a request's deadline.
      backoff: () => reconnectPauseMs / 1000,
      max_lifetime: 1800,
      idle_timeout: 0,
      fetch_types: known === null,
      onclose: this.#onClose,
      onparameter: (parameter: string, value: string) => {
        // A pooler reports what some server told it once.
        if (!primary.address.isPooled) this.#role.report(parameter, value);
      },
      onnotice: (notice) => {
        // Not about a statement: the operating system's collations changed after the database was created.
        if (notice.routine === "CheckMyDatabase") return;
        if (notice.severity === "WARNING") onWarning?.(notice.message ?? "");
      },
      connection: {
        application_name: `lead-intake ${name}`,
        synchronous_commit: "on",
        // accept() and key revocation rely on it: a statement sees what committed before the statement began.
        default_transaction_isolation: "read committed",
        statement_timeout: statementTimeoutMs,
        lock_timeout: Math.round(statementTimeoutMs * lockTimeShare),
        // Compiling the report took 1.6 s, running it 0.05 s.
        jit: "off",
        // Cancels the statement of a client that is gone, even while it waits for a lock.
        client_connection_check_interval: 1_000,
        ...settings,
      },
    });
    if (known !== null) {
      Object.assign(sql.options.parsers, known.parsers);
      Object.assign(sql.options.serializers, known.serializers);
    }
    return sql;
  }

  /** Whether its server is known to take no writes. */
  get isReadOnly(): boolean {
    return this.#role.isReadOnly || this.#wasRefusedAsReadOnly;
  }

  /** Whether it is connected to a server that is no longer the known primary. */
  get isOnOldPrimary(): boolean {
    const { current } = this.#options.primary;
    return this.#server !== null && current !== null && current !== this.#server;
  }

  get running(): readonly Running[] {
    return [...this.#running];
  }

  /**
   * Runs a statement and returns its rows.
   *
   * @throws {Unavailable} when the set is discarded meanwhile
   */
  async run<T>(statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#isDiscarded) throw discarded();
    const running: Running = { startedAtMs: performance.now(), query: null, fail: () => {} };
    this.#running.add(running);
    try {
      // Not a race with one promise of the set: that would retain the rows of every statement.
      const rows = await new Promise<T>((resolve, reject) => {
        running.fail = reject;
        this.#open().then((sql) => {
          const query = statement(sql);
          running.query = query;
          return query;
        }).then(resolve, reject);
      });
      const options = this.#sql?.options as postgres.Sql["options"];
      ConnectionSet.#arrayTypes ??= options;
      // For connections that this set has yet to open.
      options.fetch_types = false;
      releaseParameters(running.query);
      // Takes the rows out of the result, which would retain them.
      return Array.isArray(rows) ? rows.splice(0) as T : rows;
    } catch (error) {
      if (refusedWith(error) === "25006") this.#wasRefusedAsReadOnly = true;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Its server was silent, disappeared or takes no writes: search for the primary before the next connection. */
  invalidatePrimary(): void {
    if (this.#server !== null) this.#options.primary.invalidate(this.#server);
  }

  hasAny(statements: readonly Running[]): boolean {
    return statements.some((statement) => this.#running.has(statement));
  }

  /**
   * Closes the connections, fails what runs, and has the server cancel it: a backend that waits for a synchronous
   * standby notices neither its client's end nor its timeout, and would occupy a connection.
   */
  async discard(): Promise<void> {
    this.#isDiscarded = true;
    for (const { fail } of this.#running) fail(discarded());
    if (this.#server === null || this.#sql === null) return;
    const cancelled = this.#cancelRunning(this.#server);
    // A pooler forgets the statement with its client, so cancel first. A server would go on with the next queued
    // statement, whose caller was told that it failed: close first.
    if (this.#options.primary.address.isPooled) await cancelled;
    await this.#sql.end({ timeout: 0 }).catch(() => {});
    await cancelled;
  }

  // Rejected: the query's own cancel(), whose connection failure cannot be caught and ends the process.
  async #cancelRunning(server: ServerAt): Promise<void> {
    const backends = new Map<number, number>();
    for (const { query } of this.#running) {
      const state = (query as { state?: { pid: number | null; secret: number } } | null)?.state;
      if (typeof state?.pid === "number") backends.set(state.pid, state.secret);
    }
    await Promise.all([...backends].map(([pid, secret]) => cancelBackend(server, { pid, secret })));
  }
}

// A server takes the sixteen bytes at once.
const cancelTimeoutMs = 2_000;

/** Sends a server a cancel request for one of its backends. Plain text, which PostgreSQL accepts even if logins need TLS. */
function cancelBackend(
  server: ServerAt,
  { pid, secret }: { pid: number; secret: number },
): Promise<void> {
  const message = Buffer.alloc(16);
  message.writeUInt32BE(16, 0);
  message.writeUInt32BE(80_877_102, 4);
  message.writeUInt32BE(pid, 8);
  message.writeUInt32BE(secret, 12);
  const path = socketPath(server);
  const socket = connect(path === null ? server : { path });
  socket.unref();
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.on("error", () => {});
  const closed = new Promise<void>((settle) => socket.once("close", () => settle()));
  // The server closes: a pooler takes an end on our side for a client that gave up.
  socket.write(message);
  socket.resume();
  return closed;
}

/**
 * Drops the parameters of an answered postgres.js query.
 *
 * Chosen: V8 frees such self-referencing objects only in a major collection, and with them the text of a whole batch:
 * 80 % of the intake's garbage (Node 20 and 24).
 */
function releaseParameters(query: unknown): void {
  if (query instanceof Promise && "args" in query) {
    Object.assign(query, { args: [], parameters: [], string: "", signature: "" });
  }
}

function discarded(): Unavailable {
  return new Unavailable("the connection was discarded");
}
