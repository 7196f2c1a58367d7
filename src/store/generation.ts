/**
 * Connections that were opened together and are left behind together, with what postgres.js lacks: it is known what
 * the server says of itself, and what is left behind is cancelled.
 *
 * @module
 */

import { connect } from "node:net";
import postgres from "postgres";
import { refusedWith, Unavailable } from "./unavailable.ts";

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
  /** A standby's answers count as none: it may lag behind what has been committed. */
  readonly isPrimaryOnly?: boolean;
  /** Further settings of the server for these connections, such as the planner's. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Called with every notice of the severity WARNING that comes with a statement. */
  readonly onWarning?: (message: string) => void;
}

/** After a lost connection, and between attempts to connect: bounds how often a server that is away is asked. */
export const reconnectPauseMs = 200;

// A lock is waited for during this part of a statement's time: then what has failed says that it was a lock (55P03)
// and not that the server was slow (57014), and the connection stays.
const lockTimeShare = 0.8;
// Its message is sixteen bytes; a server that is there takes them at once.
const cancelTimeoutMs = 2_000;

/** Reads what a server reports of itself whenever it changes: whether it is a standby, or held to reading. */
export class ServerRole {
  #isStandby = false;
  #isHeldToReading = false;

  /** As postgres.js tells it; PostgreSQL 14 and later report both. */
  report(parameter: string, value: string): void {
    if (parameter === "in_hot_standby") this.#isStandby = value === "on";
    if (parameter === "default_transaction_read_only") this.#isHeldToReading = value === "on";
  }

  /** Whether it is a copy of another server. */
  get isStandby(): boolean {
    return this.#isStandby;
  }

  /** Whether it takes no writes. */
  get isReadOnly(): boolean {
    return this.#isStandby || this.#isHeldToReading;
  }
}

/** A statement under way. */
interface Running {
  readonly startedAtMs: number;
  query: unknown;
}

/** Some connections of a pool. They are opened when they are needed, and each looks up the server's name anew. */
export class Generation {
  readonly openedAtMs: number = performance.now();
  readonly #sql: postgres.Sql;
  /** Resolves when connections may be opened. */
  readonly #opens: Promise<void>;
  /** Rejects when the generation is left behind; never resolves. */
  readonly #left: PromiseWithResolvers<never> = Promise.withResolvers<never>();
  readonly #running = new Set<Running>();
  readonly #role = new ServerRole();
  #wasRefusedAsReadOnly = false;

  // postgres.js asks for the array types on each new connection, in a statement whose failure nobody catches: a
  // connection lost just then would end the process. They are the same everywhere, so the first answer is kept.
  static #arrayTypes: postgres.Sql["options"] | null = null;

  /** `onClose` is called when one of its connections has ended. */
  constructor(options: PoolOptions, { afterMs, onClose }: { afterMs: number; onClose: () => void }) {
    const known = Generation.#arrayTypes;
    this.#sql = postgres(options.databaseUrl, {
      max: options.connectionsMax,
      connect_timeout: 2,
      // In seconds; the default climbs to 20, and requests would wait past their deadline.
      backoff: () => reconnectPauseMs / 1000,
      max_lifetime: 1800,
      idle_timeout: 0,
      fetch_types: known === null,
      onclose: onClose,
      onparameter: (name: string, value: string) => this.#role.report(name, value),
      onnotice: (notice) => {
        // Not about a statement: the operating system's collations have changed since the database was made.
        if (notice.routine === "CheckMyDatabase") return;
        if (notice.severity === "WARNING") options.onWarning?.(notice.message ?? "");
      },
      connection: {
        application_name: `lead-intake ${options.name}`,
        synchronous_commit: "on",
        // What accept and revoke rest on: a statement sees what committed before it began, not before its transaction.
        default_transaction_isolation: "read committed",
        statement_timeout: options.statementTimeoutMs,
        lock_timeout: Math.round(options.statementTimeoutMs * lockTimeShare),
        // No statement of ours runs long enough for it: compiling the report took 1.6 s, running it 0.05 s.
        jit: "off",
        // A statement whose client has gone is given up, even while it waits for a lock.
        client_connection_check_interval: 1_000,
        ...options.settings,
      },
    });
    if (known !== null) {
      Object.assign(this.#sql.options.parsers, known.parsers);
      Object.assign(this.#sql.options.serializers, known.serializers);
    }
    this.#left.promise.catch(() => {});
    this.#opens = afterMs === 0 ? Promise.resolve() : new Promise<void>((open) => setTimeout(open, afterMs));
  }

  /** Whether its server is known to take no writes. */
  get isReadOnly(): boolean {
    return this.#role.isReadOnly || this.#wasRefusedAsReadOnly;
  }

  /** Whether its server is known to be a copy of another one. */
  get isStandby(): boolean {
    return this.#role.isStandby;
  }

  /** When each statement under way began, by `performance.now()`. */
  get running(): readonly Running[] {
    return [...this.#running];
  }

  /** Runs a statement; throws {@linkcode Unavailable} when the generation is left behind meanwhile. */
  async run<T>(statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    const running: Running = { startedAtMs: performance.now(), query: null };
    this.#running.add(running);
    try {
      const answer = this.#opens.then(() => {
        const query = statement(this.#sql);
        running.query = query;
        return query;
      });
      const rows = await Promise.race([answer, this.#left.promise]);
      Generation.#arrayTypes ??= this.#sql.options;
      // For the connections that this generation has yet to open.
      this.#sql.options.fetch_types = false;
      return rows;
    } catch (error) {
      if (refusedWith(error) === "25006") this.#wasRefusedAsReadOnly = true;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Whether one of these statements is still under way. */
  hasAny(statements: readonly Running[]): boolean {
    return statements.some((statement) => this.#running.has(statement));
  }

  /**
   * Closes the connections without waiting for anything, fails what runs, and has the server cancel it: a backend
   * that waits for a synchronous standby notices neither its client's end nor its statement's timeout, and keeps its
   * place among the connections for as long as the standby is away.
   */
  async abandon(): Promise<void> {
    this.#left.reject(new Unavailable("the connection was left behind"));
    this.#cancelRunning();
    await this.#sql.end({ timeout: 0 }).catch(() => {});
  }

  // Rejected: the query's own cancel(), whose failure to connect nobody can catch: it would end the process.
  #cancelRunning(): void {
    const backends = new Map<number, number>();
    for (const { query } of this.#running) {
      const state = (query as { state?: { pid: number | null; secret: number } } | null)?.state;
      if (typeof state?.pid === "number") backends.set(state.pid, state.secret);
    }
    const { host, port, path } = this.#sql.options;
    for (const [pid, secret] of backends) {
      const to = path ? { path } : { host: host[0] as string, port: port[0] as number };
      cancelBackend(to, { pid, secret });
    }
  }
}

// Without TLS, which PostgreSQL takes whatever it demands of logins: there is nothing in it but the two numbers.
function cancelBackend(
  to: { path: string } | { host: string; port: number },
  { pid, secret }: { pid: number; secret: number },
): void {
  const message = Buffer.alloc(16);
  message.writeUInt32BE(16, 0);
  message.writeUInt32BE(80_877_102, 4);
  message.writeUInt32BE(pid, 8);
  message.writeUInt32BE(secret, 12);
  const socket = connect(to);
  socket.unref();
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.on("error", () => {});
  socket.end(message);
}
