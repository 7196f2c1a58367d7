/** Finds which of several servers accepts writes. */

import { type DatabaseAddress, formatServer, parseDatabaseUrl, type ServerEndpoint } from "./address.ts";
import { connectTo } from "./connect.ts";
import { describeError, NoPrimary, sqlStateOf } from "./unavailable.ts";
import { waitAtMost } from "./wait.ts";

interface ServerState {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** The timeline id in eight hexadecimal digits, which every promotion increases; `null` on a standby. */
  readonly timeline: string | null;
}

interface Candidate {
  readonly server: ServerEndpoint;
  readonly timeline: number;
}

const searchMs = 1_000;
const queryPauseMs = 200;
// A response takes milliseconds; a frozen machine accepts the connection and never responds.
const queryTimeoutMs = 1_000;
// How long to wait for a second server that accepts writes: right after a failover, the first may be the old primary.
const secondCandidateMs = 100;
// A server on an older timeline than one seen before missed a failover. If no other server accepts writes for this
// long, the database was rebuilt.
const staleTimelineMs = 60_000;

/**
 * Finds the server to connect to. The pools of a process share one instance, so that a failover causes one search.
 *
 * Queries all servers in parallel, picks the writable one that was promoted last, and uses it until it is invalidated.
 * If the URL has only one server, that server is used without a query.
 */
export class Primary {
  readonly address: DatabaseAddress;
  #current: ServerEndpoint | null;
  #search: Promise<ServerEndpoint> | null = null;
  #timeline = 0;
  /** When searches started to find only older timelines; infinite if the last search found none or the latest. */
  #staleSinceMs = Number.POSITIVE_INFINITY;

  constructor(databaseUrl: string) {
    this.address = parseDatabaseUrl(databaseUrl);
    const { servers } = this.address;
    this.#current = servers.length === 1 ? servers[0] : null;
  }

  /** The server found by the last search or the only one; `null` before the first search and after an invalidation. */
  get current(): ServerEndpoint | null {
    return this.#current;
  }

  /**
   * Returns the server that accepts writes.
   *
   * @throws {NoPrimary} when no server that is up to date accepts writes within about a second
   * @throws {postgres.PostgresError} when the login is refused or the database does not exist
   */
  find(): Promise<ServerEndpoint> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#search ??= this.#find().finally(() => this.#search = null);
    return this.#search;
  }

  /** Makes {@linkcode find} search again if there are several servers, because `server` is lost, silent or read-only. */
  invalidate(server: ServerEndpoint): void {
    if (this.#current === server && this.address.servers.length > 1) this.#current = null;
  }

  async #find(): Promise<ServerEndpoint> {
    const search = new PrimarySearch(this.address);
    const candidates = await search.candidates();
    const [latest] = candidates.toSorted((one, other) => other.timeline - one.timeline);
    if (latest === undefined) {
      this.#staleSinceMs = Number.POSITIVE_INFINITY;
      throw search.failure();
    }
    const nowMs = performance.now();
    if (latest.timeline < this.#timeline) {
      this.#staleSinceMs = Math.min(this.#staleSinceMs, nowMs);
      if (nowMs - this.#staleSinceMs < staleTimelineMs) {
        await pause(queryPauseMs);
        throw new NoPrimary(`${formatServer(latest.server)} missed a failover`);
      }
    }
    this.#staleSinceMs = Number.POSITIVE_INFINITY;
    this.#timeline = latest.timeline;
    this.#current = latest.server;
    return latest.server;
  }
}

class PrimarySearch {
  readonly #address: DatabaseAddress;
  /** The last state or error of each server, by its formatted address. */
  readonly #results = new Map<string, unknown>();
  #isOver = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  async candidates(): Promise<readonly Candidate[]> {
    const candidates: Candidate[] = [];
    const firstFound = Promise.withResolvers<void>();
    const { servers } = this.#address;
    const queries = servers.map((server) =>
      this.#queryUntilWritable(server, (candidate) => candidates.push(candidate), firstFound.resolve)
    );
    await waitAtMost(searchMs, firstFound.promise);
    this.#isOver = true;
    // The running queries may find a second candidate.
    if (candidates.length > 0) await waitAtMost(secondCandidateMs, Promise.all(queries));
    return candidates;
  }

  async #queryUntilWritable(
    server: ServerEndpoint,
    add: (candidate: Candidate) => void,
    onFound: () => void,
  ): Promise<void> {
    do {
      try {
        const state = await queryState(this.#address, server);
        this.#results.set(formatServer(server), state);
        if (state.timeline !== null && !state.isReadOnly) {
          add({ server, timeline: Number.parseInt(state.timeline, 16) });
          return onFound();
        }
      } catch (error) {
        this.#results.set(formatServer(server), error);
      }
      if (!this.#isOver) await pause(queryPauseMs);
    } while (!this.#isOver);
  }

  /** Returns the error to throw when no server accepts writes. */
  failure(): unknown {
    const responses = [...this.#results.values()].filter(isResponse);
    // If every server that responds refuses the login or lacks the database, the settings are wrong.
    const isRefused = responses.every((response) => /^(28|3D000)/.test(sqlStateOf(response) ?? ""));
    if (isRefused && responses.length > 0) return responses[0];
    const sentences = this.#address.servers.map((server) => {
      const result = this.#results.get(formatServer(server));
      return `${formatServer(server)} ${result === undefined ? "does not respond" : describeResult(result)}`;
    });
    return new NoPrimary(sentences.join(", "));
  }
}

/** Returns whether a result came from the server itself. */
function isResponse(result: unknown): boolean {
  return !(result instanceof Error) || sqlStateOf(result) !== null;
}

function describeResult(result: unknown): string {
  if (sqlStateOf(result) !== null) return `refuses (${describeError(result)})`;
  if (result instanceof Error) return `does not respond (${describeError(result)})`;
  return (result as ServerState).isStandby ? "is a standby" : "is read-only";
}

async function queryState(address: DatabaseAddress, server: ServerEndpoint): Promise<ServerState> {
  const sql = connectTo(address, server, {
    max: 1,
    connect_timeout: queryTimeoutMs / 1_000,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "lead-intake find" },
  });
  try {
    const query = sql<ServerState[]>`
      select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
        case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`
      .simple();
    let state: ServerState | undefined;
    await waitAtMost(queryTimeoutMs, query.then(([row]) => state = row));
    if (state === undefined) throw Object.assign(new Error("silent"), { code: "CONNECT_TIMEOUT" });
    return state;
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {});
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
