/**
 * Connections that were opened together and are left behind together, with what postgres.js lacks: it is known what
 * the server says of itself, and what is left behind is cancelled.
 *
 * @module
 */

import type postgres from "postgres";
import type { ServerAt } from "./address.ts";
import { cancelBackend } from "./cancel_backend.ts";
import { connectTo } from "./connect.ts";
import type { Primary } from "./primary.ts";
import { refusedWith, Unavailable } from "./unavailable.ts";

/** How a pool connects. */
export interface PoolOptions {
  /** The server to connect to; the pools of a process share it. */
  readonly primary: Primary;
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

/** After a lost connection, and between attempts to connect: bounds how often a server that is away is asked. */
export const reconnectPauseMs = 200;

// A lock is waited for during this part of a statement's time: then what has failed says that it was a lock (55P03)
// and not that the server was slow (57014), and the connection stays.
const lockTimeShare = 0.8;

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
  /** Ends the wait for its answer. */
  fail: (error: Unavailable) => void;
}

/** Some connections of a pool, all to one server. They are opened when they are needed, and each looks up its name anew. */
export class Generation {
  readonly openedAtMs: number = performance.now();
  readonly #options: PoolOptions;
  readonly #onClose: () => void;
  /** Resolves when connections may be opened. */
  readonly #opens: Promise<void>;
  readonly #running = new Set<Running>();
  readonly #role = new ServerRole();
  #wasRefusedAsReadOnly = false;
  #isLeft = false;
  #server: ServerAt | null = null;
  #sql: postgres.Sql | null = null;

  // postgres.js asks for the array types on each new connection, in a statement whose failure nobody catches (see
  // isDriversQuestion). They are the same everywhere, so the first answer is kept.
  static #arrayTypes: postgres.Sql["options"] | null = null;

  /** `onClose` is called when one of its connections has ended. */
  constructor(options: PoolOptions, { afterMs, onClose }: { afterMs: number; onClose: () => void }) {
    this.#options = options;
    this.#onClose = onClose;
    this.#opens = afterMs === 0 ? Promise.resolve() : new Promise<void>((open) => setTimeout(open, afterMs));
  }

  async #open(): Promise<postgres.Sql> {
    await this.#opens;
    if (this.#sql !== null) return this.#sql;
    const server = await this.#options.primary.find();
    if (this.#isLeft) throw leftBehind();
    this.#server = server;
    return this.#sql ??= this.#connect(server);
  }

  #connect(server: ServerAt): postgres.Sql {
    const { primary, name, connectionsMax, statementTimeoutMs, onWarning, settings } = this.#options;
    const known = Generation.#arrayTypes;
    const sql = connectTo(primary.address, server, {
      max: connectionsMax,
      connect_timeout: 2,
      // In seconds; the default climbs to 20, and requests would wait past their deadline.
      backoff: () => reconnectPauseMs / 1000,
      max_lifetime: 1800,
      idle_timeout: 0,
      fetch_types: known === null,
      onclose: this.#onClose,
      onparameter: (parameter: string, value: string) => {
        // A pooler tells what it was told once, by whatever server that was.
        if (!primary.address.isPooled) this.#role.report(parameter, value);
      },
      onnotice: (notice) => {
        // Not about a statement: the operating system's collations have changed since the database was made.
        if (notice.routine === "CheckMyDatabase") return;
        if (notice.severity === "WARNING") onWarning?.(notice.message ?? "");
      },
      connection: {
        application_name: `lead-intake ${name}`,
        synchronous_commit: "on",
        // What accept and revoke rest on: a statement sees what committed before it began, not before its transaction.
        default_transaction_isolation: "read committed",
        statement_timeout: statementTimeoutMs,
        lock_timeout: Math.round(statementTimeoutMs * lockTimeShare),
        // No statement of ours runs long enough for it: compiling the report took 1.6 s, running it 0.05 s.
        jit: "off",
        // A statement whose client has gone is given up, even while it waits for a lock.
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

  /** Whether it is connected to another server than the one that takes writes now, as far as that is known. */
  get isElsewhere(): boolean {
    const { known } = this.#options.primary;
    return this.#server !== null && known !== null && known !== this.#server;
  }

  /** When each statement under way began, by `performance.now()`. */
  get running(): readonly Running[] {
    return [...this.#running];
  }

  /**
   * Runs a statement and returns its rows, without what postgres.js tells of them besides (count, columns); throws
   * {@linkcode Unavailable} when the generation is left behind meanwhile.
   */
  async run<T>(statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    if (this.#isLeft) throw leftBehind();
    const running: Running = { startedAtMs: performance.now(), query: null, fail: () => {} };
    this.#running.add(running);
    try {
      // Not a race with one promise of the generation's: that would keep the rows of every statement until it is left.
      const rows = await new Promise<T>((resolve, reject) => {
        running.fail = reject;
        this.#open().then((sql) => {
          const query = statement(sql);
          running.query = query;
          return query;
        }).then(resolve, reject);
      });
      const options = this.#sql?.options as postgres.Sql["options"];
      Generation.#arrayTypes ??= options;
      // For the connections that this generation has yet to open.
      options.fetch_types = false;
      letGo(running.query);
      // Taken out of the query's result, which keeps them otherwise.
      return Array.isArray(rows) ? rows.splice(0) as T : rows;
    } catch (error) {
      if (refusedWith(error) === "25006") this.#wasRefusedAsReadOnly = true;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Its server was silent, went away or takes no writes: it is looked for anew before the next connection. */
  doubt(): void {
    if (this.#server !== null) this.#options.primary.doubt(this.#server);
  }

  /** Whether one of these statements is still under way. */
  hasAny(statements: readonly Running[]): boolean {
    return statements.some((statement) => this.#running.has(statement));
  }

  /**
   * Closes the connections without waiting for what runs, fails it, and has the server cancel it: a backend that waits for
   * a synchronous standby notices neither its client's end nor its statement's timeout, and keeps its place among the
   * connections for as long as the standby is away.
   */
  async abandon(): Promise<void> {
    this.#isLeft = true;
    for (const { fail } of this.#running) fail(leftBehind());
    if (this.#server === null || this.#sql === null) return;
    const cancelled = this.#cancelRunning(this.#server);
    // A pooler forgets a client's statement with the client, and could not cancel it any more. A server itself would be sent
    // what is queued behind the one that is cancelled, whose caller was told that it failed.
    if (this.#options.primary.address.isPooled) await cancelled;
    await this.#sql.end({ timeout: 0 }).catch(() => {});
    await cancelled;
  }

  // Rejected: the query's own cancel(), whose failure to connect nobody can catch: it would end the process.
  async #cancelRunning(server: ServerAt): Promise<void> {
    const backends = new Map<number, number>();
    for (const { query } of this.#running) {
      const state = (query as { state?: { pid: number | null; secret: number } } | null)?.state;
      if (typeof state?.pid === "number") backends.set(state.pid, state.secret);
    }
    await Promise.all([...backends].map(([pid, secret]) => cancelBackend(server, { pid, secret })));
  }
}

/**
 * Lets go of what an answered query of postgres.js was sent with.
 *
 * Chosen: V8 frees an object that has a function which has the object, as such a query is, only when it collects old
 * objects, and with it the text of a whole batch: 80 % of all that the intake left there (Node 20 and 24).
 */
function letGo(query: unknown): void {
  if (query instanceof Promise && "args" in query) {
    Object.assign(query, { args: [], parameters: [], string: "", signature: "" });
  }
}

function leftBehind(): Unavailable {
  return new Unavailable("the connection was left behind");
}
