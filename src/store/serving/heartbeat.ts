/** Decides whether the store takes writes, from the service's commits and from small writes of its own in between. */

import type { Pool } from "../pool.ts";
import { isStoreRefusal, reportsUnwritable } from "../unavailable.ts";

export interface HeartbeatOptions {
  /** A connection of its own, so that nothing delays a beat. */
  readonly pool: Pool;
  readonly nowMs: () => number;
  /** Identifies this process in the heartbeat table; any small number. */
  readonly slot: number;
}

interface Beat {
  readonly pending: string;
  readonly dead: string;
}

/** Called when the store stops taking writes, with the cause, and when it takes them again. */
export type WritableReaction = (writable: boolean, cause: unknown) => void;

// `store_writable` turns false at most interval + silence after the last write: 2 s.
const intervalMs = 500;
const silenceMaxMs = 1_500;
const missesMax = 2;
// Shorter while the store is unavailable, to notice its return at once.
const awayDeadlineMs = 1_000;
const retryMs = 200;
// Consecutive batches refused as a whole, for a reason that may not be their own.
const refusalsMax = 3;
// After a refused commit: bounds how often a store that takes beats but refuses commits is tried.
const refusalHoldMs = 1_000;

/**
 * Beats, watches commits, and says whether posts may be accepted.
 *
 * It closes at once when the server says that it takes no writes (read-only, full disk), after {@linkcode
 * refusalsMax} refused batches in a row, and after two missed beats in a row; a confirmed commit counts as a beat.
 * The next beat opens it.
 *
 * Rejected: the age of the last write. A process busy for 2 s saw an unwritable store before it read the answer that
 * had arrived (56 of 450 form posts refused in one run).
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #writable = false;
  #hasBeaten = false;
  #reaction: WritableReaction = () => {};
  #misses = 0;
  #refusals = 0;
  #committedAtMs = Number.NEGATIVE_INFINITY;
  /** A beat that began earlier does not open. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** When the last beat ended, successful or not; initially the start time. */
  endedAtMs: number;
  /** Outbox rows that are not settled, as last read. */
  pending = 0;
  /** Dead letters, as last read. */
  dead = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.endedAtMs = options.nowMs();
  }

  /** Sets the callback for further changes. */
  react(reaction: WritableReaction): void {
    this.#reaction = reaction;
  }

  get hasBeaten(): boolean {
    return this.#hasBeaten;
  }

  /** Whether the store is known to take no writes; false before the first beat. */
  get isAway(): boolean {
    return this.#hasBeaten && !this.#writable;
  }

  /** Whether the store took the last write. */
  get writable(): boolean {
    return this.#writable;
  }

  /** A commit was confirmed. */
  committed(): void {
    this.#committedAtMs = this.#options.nowMs();
    this.#misses = 0;
    this.#refusals = 0;
  }

  /** A batch failed, and nothing of it was committed. */
  commitFailed(error: unknown): void {
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

  /** Beats once, and returns how long that took in milliseconds. */
  async runOnce(): Promise<number> {
    const startedAtMs = this.#options.nowMs();
    try {
      const [row] = await this.#options.pool.run(
        this.#writable ? silenceMaxMs : awayDeadlineMs,
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
    // A lost connection may be just that; a long silence counts for as many beats as it prevented.
    this.#misses += Math.max(1, Math.floor(silentMs / intervalMs));
    if (reportsUnwritable(error) || this.#misses >= missesMax) this.#change(false, error);
  }

  #change(writable: boolean, cause: unknown): void {
    if (writable === this.#writable) return;
    this.#writable = writable;
    this.#refusals = 0;
    this.#reaction(writable, cause);
  }
}
