/** Finds the server that takes writes, among several. */

import { type DatabaseAddress, nameOf, parseDatabaseUrl, type ServerAt } from "./address.ts";
import { connectTo } from "./connect.ts";
import { describeError, NoPrimary, refusedWith } from "./unavailable.ts";

interface ServerState {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Eight hexadecimal digits that grow with every promotion; `null` on a standby. */
  readonly timeline: string | null;
}

interface Candidate {
  readonly server: ServerAt;
  readonly timeline: number;
}

// How long one search lasts.
const searchMs = 1_000;
// Bounds how often a server that is down or a standby is asked.
const askPauseMs = 200;
// An answer takes milliseconds; a frozen machine accepts the connection and stays silent.
const askTimeoutMs = 1_000;
// After the first server that takes writes, wait this long for a second: right after a failover the first may be the
// old primary.
const rivalMs = 100;
// A server on an older timeline than one seen before was left behind by a failover. If it stays the only one for this
// long, the database was rebuilt.
const leftBehindMs = 60_000;

/**
 * Finds the server to connect to; the pools of a process share one, so that a failover causes one search.
 *
 * It asks all servers in parallel, repeatedly, picks the writable one that was promoted last, and keeps it until it
 * is invalidated. An address with one server is used without asking.
 */
export class Primary {
  readonly address: DatabaseAddress;
  #current: ServerAt | null;
  #search: Promise<ServerAt> | null = null;
  #timeline = 0;
  /** Since when every search has found only older timelines. */
  #behindSinceMs = Number.POSITIVE_INFINITY;

  constructor(databaseUrl: string) {
    this.address = parseDatabaseUrl(databaseUrl);
    const { servers } = this.address;
    this.#current = servers.length === 1 ? servers[0] : null;
  }

  /** The server found last, unless it was invalidated. */
  get current(): ServerAt | null {
    return this.#current;
  }

  /**
   * The server that takes writes.
   *
   * @throws {NoPrimary} when none does within about a second
   * @throws {postgres.PostgresError} when the login is refused or the database does not exist
   */
  find(): Promise<ServerAt> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    this.#search ??= this.#find().finally(() => this.#search = null);
    return this.#search;
  }

  /** A connection to this server was lost, was silent or took no writes: search again before the next connection. */
  invalidate(server: ServerAt): void {
    if (this.#current === server && this.address.servers.length > 1) this.#current = null;
  }

  async #find(): Promise<ServerAt> {
    const search = new PrimarySearch(this.address);
    const candidates = await search.candidates();
    const [latest] = candidates.toSorted((one, other) => other.timeline - one.timeline);
    if (latest === undefined) {
      this.#behindSinceMs = Number.POSITIVE_INFINITY;
      throw search.failure();
    }
    const nowMs = performance.now();
    if (latest.timeline < this.#timeline) {
      this.#behindSinceMs = Math.min(this.#behindSinceMs, nowMs);
      if (nowMs - this.#behindSinceMs < leftBehindMs) {
        await pause(askPauseMs);
        throw new NoPrimary(`${nameOf(latest.server)} was left behind by a failover`);
      }
    }
    this.#behindSinceMs = Number.POSITIVE_INFINITY;
    this.#timeline = latest.timeline;
    this.#current = latest.server;
    return latest.server;
  }
}

class PrimarySearch {
  readonly #address: DatabaseAddress;
  readonly #said = new Map<string, unknown>();
  #isOver = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  async candidates(): Promise<readonly Candidate[]> {
    const found: Candidate[] = [];
    const first = Promise.withResolvers<void>();
    const { servers } = this.#address;
    const untilFound = servers.map((server) =>
      this.#askUntilWritable(server, (candidate) => found.push(candidate), first.resolve)
    );
    await within(searchMs, first.promise);
    this.#isOver = true;
    // Let the questions under way finish.
    if (found.length > 0) await within(rivalMs, Promise.all(untilFound));
    return found;
  }

  async #askUntilWritable(
    server: ServerAt,
    add: (candidate: Candidate) => void,
    found: () => void,
  ): Promise<void> {
    do {
      try {
        const state = await ask(this.#address, server);
        this.#said.set(nameOf(server), state);
        if (state.timeline !== null && !state.isReadOnly) {
          add({ server, timeline: Number.parseInt(state.timeline, 16) });
          return found();
        }
      } catch (error) {
        this.#said.set(nameOf(server), error);
      }
      if (!this.#isOver) await pause(askPauseMs);
    } while (!this.#isOver);
  }

  /** The error to throw when no server takes writes. */
  failure(): unknown {
    const answers = [...this.#said.values()].filter(isAnswer);
    // Wrong settings do not heal. One server that refuses may be wrong alone.
    const isRefused = answers.every((answer) => /^(28|3D000)/.test(refusedWith(answer) ?? ""));
    if (isRefused && answers.length > 0) return answers[0];
    const sentences = this.#address.servers.map((server) => {
      const answer = this.#said.get(nameOf(server));
      return `${nameOf(server)} ${answer === undefined ? "does not answer" : describeAnswer(answer)}`;
    });
    return new NoPrimary(sentences.join(", "));
  }
}

/** Whether the server itself answered. */
function isAnswer(said: unknown): boolean {
  return !(said instanceof Error) || refusedWith(said) !== null;
}

function describeAnswer(answer: unknown): string {
  if (refusedWith(answer) !== null) return `refuses (${describeError(answer)})`;
  if (answer instanceof Error) return `does not answer (${describeError(answer)})`;
  return (answer as ServerState).isStandby ? "is a standby" : "is read-only";
}

async function ask(address: DatabaseAddress, server: ServerAt): Promise<ServerState> {
  const sql = connectTo(address, server, {
    max: 1,
    connect_timeout: askTimeoutMs / 1_000,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "lead-intake find" },
  });
  try {
    const answer = sql<ServerState[]>`
      select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
        case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`
      .simple();
    let state: ServerState | undefined;
    await within(askTimeoutMs, answer.then(([row]) => state = row));
    if (state === undefined) throw Object.assign(new Error("silent"), { code: "CONNECT_TIMEOUT" });
    return state;
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {});
  }
}

/** Waits for work, but no longer than `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise<void>((settle) => timer = setTimeout(settle, ms))]);
  clearTimeout(timer);
}

function pause(ms: number): Promise<void> {
  return new Promise((settle) => setTimeout(settle, ms));
}
