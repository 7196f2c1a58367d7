/**
 * Finds the server that takes writes, among several.
 *
 * @module
 */

import { type DatabaseAddress, nameOf, parseDatabaseUrl, type ServerAt } from "./address.ts";
import { connectTo } from "./connect.ts";
import { describeError, NoPrimary, refusedWith } from "./unavailable.ts";

/** What a server says of itself. */
interface Standing {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Eight hexadecimal digits, which grow with every promotion; `null` on a standby. */
  readonly timeline: string | null;
}

/** A server that takes writes. */
interface Candidate {
  readonly server: ServerAt;
  readonly timeline: number;
}

// How long a search goes on; whoever still wants a server begins the next.
const searchMs = 1_000;
// Between two questions to one server: bounds how often a server that is away or a copy is asked.
const askPauseMs = 200;
// An answer takes milliseconds. A frozen machine takes the connection and says nothing.
const askTimeoutMs = 1_000;
// After the first that takes writes, for another that does: for seconds after a fail-over that may be the old primary.
const rivalMs = 100;
// A server of an earlier timeline than one that was seen has been left behind by a fail-over and does not know it yet. One
// that stays the only one this long is none: the database was made anew.
const leftBehindMs = 60_000;

/**
 * The server to connect to. The pools of a process share one, so that a fail-over is one search.
 *
 * All servers are asked at once, each again and again, so that one that hangs keeps nobody from the others; the one that
 * takes writes and was promoted last is taken, and kept until somebody doubts it. An address with one server is never
 * asked: where it leads is the business of whoever moves it.
 */
export class Primary {
  readonly address: DatabaseAddress;
  #known: ServerAt | null;
  #search: Promise<ServerAt> | null = null;
  #timeline = 0;
  /** Since when every search has found earlier timelines and nothing else. */
  #behindSinceMs = Number.POSITIVE_INFINITY;

  constructor(databaseUrl: string) {
    this.address = parseDatabaseUrl(databaseUrl);
    const { servers } = this.address;
    this.#known = servers.length === 1 ? servers[0] : null;
  }

  /** The one that was found, unless it is doubted. */
  get known(): ServerAt | null {
    return this.#known;
  }

  /**
   * The server that takes writes.
   *
   * @throws {NoPrimary} when none does, within a second or so
   * @throws {postgres.PostgresError} when the login is refused, or the database is not there
   */
  find(): Promise<ServerAt> {
    if (this.#known !== null) return Promise.resolve(this.#known);
    this.#search ??= this.#find().finally(() => this.#search = null);
    return this.#search;
  }

  /** A connection to this server was lost, was silent or took no writes: look again before the next one is opened. */
  doubt(server: ServerAt): void {
    if (this.#known === server && this.address.servers.length > 1) this.#known = null;
  }

  async #find(): Promise<ServerAt> {
    const round = new Round(this.address);
    const candidates = await round.candidates();
    const [latest] = candidates.toSorted((one, other) => other.timeline - one.timeline);
    if (latest === undefined) {
      this.#behindSinceMs = Number.POSITIVE_INFINITY;
      throw round.failure();
    }
    const nowMs = performance.now();
    if (latest.timeline < this.#timeline) {
      this.#behindSinceMs = Math.min(this.#behindSinceMs, nowMs);
      if (nowMs - this.#behindSinceMs < leftBehindMs) {
        await pause(askPauseMs);
        throw new NoPrimary(`${nameOf(latest.server)} was left behind by a fail-over`);
      }
    }
    this.#behindSinceMs = Number.POSITIVE_INFINITY;
    this.#timeline = latest.timeline;
    this.#known = latest.server;
    return latest.server;
  }
}

/** One search. */
class Round {
  readonly #address: DatabaseAddress;
  /** What each has said last, by its name. */
  readonly #said = new Map<string, unknown>();
  #isOver = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /** Those that take writes; none when the time is over. */
  async candidates(): Promise<readonly Candidate[]> {
    const found: Candidate[] = [];
    const first = Promise.withResolvers<void>();
    const { servers } = this.#address;
    const untilFound = servers.map((server) =>
      this.#askUntil(server, (candidate) => found.push(candidate), first.resolve)
    );
    await within(searchMs, first.promise);
    this.#isOver = true;
    // Those that are being asked.
    if (found.length > 0) await within(rivalMs, Promise.all(untilFound));
    return found;
  }

  async #askUntil(server: ServerAt, add: (candidate: Candidate) => void, found: () => void): Promise<void> {
    do {
      try {
        const standing = await ask(this.#address, server);
        this.#said.set(nameOf(server), standing);
        if (standing.timeline !== null && !standing.isReadOnly) {
          add({ server, timeline: Number.parseInt(standing.timeline, 16) });
          return found();
        }
      } catch (error) {
        this.#said.set(nameOf(server), error);
      }
      if (!this.#isOver) await pause(askPauseMs);
    } while (!this.#isOver);
  }

  /** What to say when there are none. */
  failure(): unknown {
    const answers = [...this.#said.values()].filter(isAnswer);
    // Settings are wrong, and nothing will heal by itself. One server that refuses may be wrong alone.
    const isRefused = answers.every((answer) => /^(28|3D000)/.test(refusedWith(answer) ?? ""));
    if (isRefused && answers.length > 0) return answers[0];
    const sentences = this.#address.servers.map((server) => {
      const answer = this.#said.get(nameOf(server));
      return `${nameOf(server)} ${answer === undefined ? "does not answer" : told(answer)}`;
    });
    return new NoPrimary(sentences.join(", "));
  }
}

/** Whether the server itself has said it. */
function isAnswer(said: unknown): boolean {
  return !(said instanceof Error) || refusedWith(said) !== null;
}

function told(answer: unknown): string {
  if (refusedWith(answer) !== null) return `refuses (${describeError(answer)})`;
  if (answer instanceof Error) return `does not answer (${describeError(answer)})`;
  return (answer as Standing).isStandby ? "is a standby" : "is read-only";
}

async function ask(address: DatabaseAddress, server: ServerAt): Promise<Standing> {
  const sql = connectTo(address, server, {
    max: 1,
    connect_timeout: askTimeoutMs / 1_000,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "lead-intake find" },
  });
  try {
    const answer = sql<Standing[]>`
      select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
        case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`
      .simple();
    let standing: Standing | undefined;
    await within(askTimeoutMs, answer.then(([row]) => standing = row));
    if (standing === undefined) throw Object.assign(new Error("silent"), { code: "CONNECT_TIMEOUT" });
    return standing;
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {});
  }
}

/** Waits, but not for longer. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise<void>((settle) => timer = setTimeout(settle, ms))]);
  clearTimeout(timer);
}

function pause(ms: number): Promise<void> {
  return new Promise((settle) => setTimeout(settle, ms));
}
