/**
 * Opens and discards a pool's connections together, tracks whether the server accepts writes, and cancels the
 * statements that run on discarded connections.
 */

import { Buffer } from "node:buffer";
import { connect } from "node:net";
import type postgres from "postgres";
import { type ServerEndpoint, socketPath } from "./address.ts";
import { connectTo } from "./connect.ts";
import type { Primary } from "./primary.ts";
import { sqlStateOf, Unavailable } from "./unavailable.ts";

export interface PoolOptions {
  /** Finds the server that accepts writes. All pools of a process share one instance. */
  readonly primary: Primary;
  /** The pool's name, which `pg_stat_activity` shows after `lead-intake`. */
  readonly name: string;
  readonly connectionsMax: number;
  /** The server cancels a statement after this time, so that no statement commits long after its caller's deadline. */
  readonly statementTimeoutMs: number;
  /**
   * Returns whether the store is known to be unavailable. If so, deadlines are shorter, and once a statement got no
   * response, all statements fail at once.
   */
  readonly isUnavailable?: () => boolean;
  /** Additional server settings for these connections. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Called with the text of every WARNING from the server, except those about changed collations. */
  readonly onWarning?: (message: string) => void;
}

/** The pause after a lost connection and between attempts to connect. */
export const reconnectPauseMs = 200;

// The lock timeout as a share of the statement timeout. It is shorter, so that a wait for a lock ends with the error
// for locks (55P03) and not with the one for slow statements (57014).
const lockTimeoutShare = 0.8;

/** Tracks whether a server accepts writes, from the parameters that the server reports. */
export class ServerRole {
  #isStandby = false;
  #isReadOnlyByDefault = false;

  /** Records a parameter that the server reported. PostgreSQL 14 and later report the two used here. */
  report(parameter: string, value: string): void {
    if (parameter === "in_hot_standby") this.#isStandby = value === "on";
    if (parameter === "default_transaction_read_only") this.#isReadOnlyByDefault = value === "on";
  }

  get isReadOnly(): boolean {
    return this.#isStandby || this.#isReadOnlyByDefault;
  }
}

interface RunningStatement {
  readonly startedAtMs: number;
  query: unknown;
  /** Rejects the caller's promise. */
  fail: (error: Unavailable) => void;
}

/** A pool's connections to one server, opened on demand. */
export class ConnectionSet {
  readonly openedAtMs: number = performance.now();
  readonly #options: PoolOptions;
  readonly #onClose: () => void;
  /** Resolves when connections may be opened. */
  readonly #delay: Promise<void>;
  readonly #running = new Set<RunningStatement>();
  readonly #role = new ServerRole();
  #wasRefusedAsReadOnly = false;
  #isDiscarded = false;
  #server: ServerEndpoint | null = null;
  #sql: postgres.Sql | null = null;

  // postgres.js queries the array types on each new connection and does not handle a failure of that query (see
  // isDriverTypeQuery). The result is always the same, so all connections share it.
  static #arrayTypes: postgres.Sql["options"] | null = null;

  /** `onClose` runs whenever a connection ends. */
  constructor(options: PoolOptions, { afterMs, onClose }: { afterMs: number; onClose: () => void }) {
    this.#options = options;
    this.#onClose = onClose;
    this.#delay = afterMs === 0 ? Promise.resolve() : new Promise<void>((open) => setTimeout(open, afterMs));
  }

  async #open(): Promise<postgres.Sql> {
    await this.#delay;
    if (this.#sql !== null) return this.#sql;
    const server = await this.#options.primary.find();
    if (this.#isDiscarded) throw discardedError();
    this.#server = server;
    return this.#sql ??= this.#connect(server);
  }

  #connect(server: ServerEndpoint): postgres.Sql {
    const { primary, name, connectionsMax, statementTimeoutMs, onWarning, settings } = this.#options;
    const knownTypes = ConnectionSet.#arrayTypes;
    const sql = connectTo(primary.address, server, {
      max: connectionsMax,
      connect_timeout: 2,
      // In seconds. The default grows to 20 s, longer than a request's deadline.
      backoff: () => reconnectPauseMs / 1000,
      max_lifetime: 1800,
      idle_timeout: 0,
      fetch_types: knownTypes === null,
      onclose: this.#onClose,
      onparameter: (parameter: string, value: string) => {
        // A pooler may report the parameters of an earlier server connection.
        if (!primary.address.isPooled) this.#role.report(parameter, value);
      },
      onnotice: (notice) => {
        // Ignored, because the server repeats its warning about changed collations for every connection.
        if (notice.routine === "CheckMyDatabase") return;
        if (notice.severity === "WARNING") onWarning?.(notice.message ?? "");
      },
      connection: {
        application_name: `lead-intake ${name}`,
        synchronous_commit: "on",
        // accept() and key revocation need each statement to see everything committed before the statement started.
        default_transaction_isolation: "read committed",
        statement_timeout: statementTimeoutMs,
        lock_timeout: Math.round(statementTimeoutMs * lockTimeoutShare),
        // For the report, JIT compilation took 1.6 s and execution 0.05 s.
        jit: "off",
        // Makes the server cancel a disconnected client's statement, even while the statement waits for a lock.
        client_connection_check_interval: 1_000,
        ...settings,
      },
    });
    if (knownTypes !== null) {
      Object.assign(sql.options.parsers, knownTypes.parsers);
      Object.assign(sql.options.serializers, knownTypes.serializers);
    }
    return sql;
  }

  /** Whether the server is known to reject writes. */
  get isReadOnly(): boolean {
    return this.#role.isReadOnly || this.#wasRefusedAsReadOnly;
  }

  /** Whether the primary is known and is not the server of these connections. */
  get isOnOldPrimary(): boolean {
    const { current } = this.#options.primary;
    return this.#server !== null && current !== null && current !== this.#server;
  }

  get running(): readonly RunningStatement[] {
    return [...this.#running];
  }

  /**
   * Runs a statement and returns its rows.
   *
   * @throws {Unavailable} when the connections are discarded before the statement has ended
   * @throws {Error} from the driver, when the statement fails
   */
  async run<T>(statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#isDiscarded) throw discardedError();
    const running: RunningStatement = { startedAtMs: performance.now(), query: null, fail: () => {} };
    this.#running.add(running);
    try {
      // Rejected: Promise.race with one promise for the whole set, which would retain every statement's rows.
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
      // Affects the connections that this driver instance opens later.
      options.fetch_types = false;
      releaseParameters(running.query);
      // Moves the rows out of the driver's result, which would otherwise retain them.
      return Array.isArray(rows) ? rows.splice(0) as T : rows;
    } catch (error) {
      if (sqlStateOf(error) === "25006") this.#wasRefusedAsReadOnly = true;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Makes the next connection attempt search for the primary again, if the URL has several servers. */
  invalidatePrimary(): void {
    if (this.#server !== null) this.#options.primary.invalidate(this.#server);
  }

  hasAny(statements: readonly RunningStatement[]): boolean {
    return statements.some((statement) => this.#running.has(statement));
  }

  /**
   * Closes the connections, fails the running statements, and cancels them on the server: a backend that waits for a
   * synchronous standby notices neither a disconnected client nor a timeout, and would occupy a connection.
   */
  async discard(): Promise<void> {
    this.#isDiscarded = true;
    for (const { fail } of this.#running) fail(discardedError());
    if (this.#server === null || this.#sql === null) return;
    const canceled = this.#cancelRunning(this.#server);
    // A pooler loses track of a statement whose client disconnects, so cancel before closing. Without a pooler, close at
    // once, so that the canceled backend does not run the next queued statement, which has already failed for its caller.
    if (this.#options.primary.address.isPooled) await canceled;
    await this.#sql.end({ timeout: 0 }).catch(() => {});
    await canceled;
  }

  // Rejected: the query's own cancel(), whose connection failure cannot be caught and ends the process.
  async #cancelRunning(server: ServerEndpoint): Promise<void> {
    const backends = new Map<number, number>();
    for (const { query } of this.#running) {
      const state = (query as { state?: { pid: number | null; secret: number } } | null)?.state;
      if (typeof state?.pid === "number") backends.set(state.pid, state.secret);
    }
    await Promise.all([...backends].map(([pid, secret]) => cancelBackend(server, { pid, secret })));
  }
}

// A healthy server reads the 16 bytes immediately.
const cancelTimeoutMs = 2_000;

/**
 * Sends an unencrypted cancel request for a backend, which PostgreSQL accepts even if logins require TLS. The socket keeps
 * the process running, because a closing pool waits for this request, possibly with nothing else open.
 */
function cancelBackend(
  server: ServerEndpoint,
  { pid, secret }: { pid: number; secret: number },
): Promise<void> {
  const message = Buffer.alloc(16);
  message.writeUInt32BE(16, 0);
  message.writeUInt32BE(80_877_102, 4);
  message.writeUInt32BE(pid, 8);
  message.writeUInt32BE(secret, 12);
  const path = socketPath(server);
  const socket = connect(path === null ? server : { path });
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  // The server closes the connection. If we closed it, a pooler would ignore the request.
  socket.write(message);
  socket.resume();
  return closed;
}

/**
 * Clears the parameters of a completed postgres.js query. The query references itself, so V8 frees it only in a major
 * collection; a batch's text would stay in memory until then: 80 % of the intake's garbage (Node 20 and 24).
 */
function releaseParameters(query: unknown): void {
  if (query instanceof Promise && "args" in query) {
    Object.assign(query, { args: [], parameters: [], string: "", signature: "" });
  }
}

function discardedError(): Unavailable {
  return new Unavailable("the connection was discarded");
}
