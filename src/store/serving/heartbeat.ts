/** Determines whether the store accepts writes, from this process's commits and from regular small writes (beats). */

import type { Pool } from "../pool.ts";
import { isStoreRefusal, reportsUnwritable } from "../unavailable.ts";

export interface HeartbeatOptions {
  /** A dedicated connection, so that nothing delays a beat. */
  readonly pool: Pool;
  readonly nowMs: () => number;
  /** Identifies this process in the heartbeat table; any small number. */
  readonly slot: number;
}

interface Beat {
  readonly pending: string;
  readonly dead: string;
}

/** Called when the store stops accepting writes, with the cause, and when it accepts them again. */
export type WritableListener = (writable: boolean, cause: unknown) => void;

// If the server stops responding, `store_writable` becomes false at most 2 s after the last write: `intervalMs` plus
// `silenceMaxMs`.
const intervalMs = 500;
const silenceMaxMs = 1_500;
const missesMax = 2;
// The deadline while the store is unavailable, so that its recovery is detected soon.
const outageDeadlineMs = 1_000;
const retryMs = 200;
const refusalsMax = 3;
// How long refused commits count for more than successful beats, because a store may accept beats but refuse commits.
const refusalHoldMs = 1_000;

/**
 * Beats, observes commits, and determines whether posts may be accepted.
 *
 * The store counts as unwritable at once when the server reports that it rejects writes (read-only, full disk), after
 * {@linkcode refusalsMax} consecutive refused batches, and after two consecutive missed beats; a confirmed commit
 * counts as a beat. The next successful beat makes the store writable again; after refusals, only a beat that starts at
 * least {@linkcode refusalHoldMs} later.
 *
 * Rejected: the age of the last write. A process that had been busy for 2 s refused posts before it read the response
 * that had arrived (56 of 450 form posts in one run).
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #writable = false;
  #hasBeaten = false;
  #listener: WritableListener = () => {};
  #misses = 0;
  #refusals = 0;
  #committedAtMs = Number.NEGATIVE_INFINITY;
  /** A beat that started before this time does not make the store writable. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** When the last beat ended, successful or not; initially the start time. */
  endedAtMs: number;
  /** The number of unsettled outbox rows, as last read. */
  pending = 0;
  /** The number of dead letters, as last read. */
  dead = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.endedAtMs = options.nowMs();
  }

  /** Replaces the callback for changes. */
  onChange(listener: WritableListener): void {
    this.#listener = listener;
  }

  get hasBeaten(): boolean {
    return this.#hasBeaten;
  }

  /** Whether the store is known to reject writes; false before the first beat. */
  get isUnavailable(): boolean {
    return this.#hasBeaten && !this.#writable;
  }

  /** Whether posts may be accepted; false before the first successful beat. */
  get writable(): boolean {
    return this.#writable;
  }

  /** Records a confirmed commit. */
  recordCommit(): void {
    this.#committedAtMs = this.#options.nowMs();
    this.#misses = 0;
    this.#refusals = 0;
  }

  /** Records a failed batch; only a refusal by the server matters. */
  recordFailedCommit(error: unknown): void {
    if (!isStoreRefusal(error)) return;
    this.#refusals += 1;
    if (!reportsUnwritable(error) && this.#refusals < refusalsMax) return;
    this.#heldUntilMs = this.#options.nowMs() + refusalHoldMs;
    this.#change(false, error);
  }

  pauseMs(tookMs: number | null): number {
    if (!this.#writable || this.#misses > 0 || tookMs === null) return retryMs;
    return Math.max(0, intervalMs - tookMs);
  }

  /** Makes one beat, and returns its duration in milliseconds. */
  async runOnce(): Promise<number> {
    const startedAtMs = this.#options.nowMs();
    try {
      const [row] = await this.#options.pool.run(
        this.#writable ? silenceMaxMs : outageDeadlineMs,
        (sql) => sql<Beat[]>`select * from beat(${this.#options.slot})`,
      );
      this.pending = Math.max(0, Number(row?.pending));
      this.dead = Math.max(0, Number(row?.dead));
      this.#misses = 0;
      if (startedAtMs >= this.#heldUntilMs) this.#change(true, null);
    } catch (error) {
      this.#missed(error, startedAtMs);
    }
    this.#hasBeaten = true;
    this.endedAtMs = this.#options.nowMs();
    return this.endedAtMs - startedAtMs;
  }

  #missed(error: unknown, startedAtMs: number): void {
    const silentMs = this.#options.nowMs() - Math.max(startedAtMs, this.#committedAtMs);
    // A lost connection counts as one missed beat, a long silence as the number of beats that it prevented.
    this.#misses += Math.max(1, Math.floor(silentMs / intervalMs));
    if (reportsUnwritable(error) || this.#misses >= missesMax) this.#change(false, error);
  }

  #change(writable: boolean, cause: unknown): void {
    if (writable === this.#writable) return;
    this.#writable = writable;
    this.#refusals = 0;
    this.#listener(writable, cause);
  }
}
