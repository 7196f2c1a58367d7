/**
 * Whether the store takes writes, judged by the commits that the service makes anyway, and by small ones of this
 * process's own in between: its beats.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { isStoresRefusal, saysUnwritable } from "../unavailable.ts";

/** How the heartbeat is run. */
export interface HeartbeatOptions {
  /** One connection of its own: nothing may keep a beat waiting. */
  readonly pool: Pool;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** Names this process in the rows of its beats; any small number. */
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
// A beat is given up after the time of three.
const silenceMaxMs = 1_500;
const missesMax = 2;
// While the store is away: so that "accepting again" follows its return at once.
const awayDeadlineMs = 1_000;
const retryMs = 200;
// Batches that were refused whole in a row, each for a reason that need not be its own.
const refusalsMax = 3;
// After a refused commit: a store that takes beats and refuses commits gets one to refuse this often.
const refusalHoldMs = 1_000;

/**
 * Beats, hears of every commit, and says whether posts may be taken.
 *
 * Open, it closes at once when the server says that it takes no writes (read-only, a full disk), be it to a beat or
 * to a commit, and after {@linkcode refusalsMax} batches in a row that were refused whole. It closes when two beats in a row were
 * missed, and a confirmed commit counts as a beat; a late beat alone closes nothing. Closed, the next beat opens it.
 *
 * Rejected: the age of the last write as the measure. A process that was busy itself for 2 s found the store
 * unwritable before it had looked at the answer that had long arrived (56 of 450 form posts refused in one run).
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
  /** When a beat ended last, whatever it found; at first, when there was none. */
  endedAtMs: number;
  /** Rows of the outbox that are not settled, as last read. */
  pending = 0;
  /** Dead rows of the outbox, as last read. */
  dead = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.endedAtMs = options.nowMs();
  }

  /** From the next change on, `reaction` is called with it. */
  react(reaction: WritableReaction): void {
    this.#reaction = reaction;
  }

  /** Whether a beat has ended, whatever it found. */
  get hasBeaten(): boolean {
    return this.#hasBeaten;
  }

  /** Whether the store is known to be away, which nobody knows before the first beat. */
  get isAway(): boolean {
    return this.#hasBeaten && !this.#writable;
  }

  /** Whether the store is known to take writes, from a real one. */
  get writable(): boolean {
    return this.#writable;
  }

  /** A commit of somebody else's was confirmed. */
  committed(): void {
    this.#committedAtMs = this.#options.nowMs();
    this.#misses = 0;
    this.#refusals = 0;
  }

  /** A batch of somebody else's failed, and nothing of it was committed. */
  commitFailed(error: unknown): void {
    if (!isStoresRefusal(error)) return;
    this.#refusals += 1;
    if (!saysUnwritable(error) && this.#refusals < refusalsMax) return;
    this.#heldUntilMs = this.#options.nowMs() + refusalHoldMs;
    this.#change(false, error);
  }

  /** Until the next beat, after one that took so long. */
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
    // A lost connection may be no more than that; what has lasted counts for as many beats as it kept from being made.
    this.#misses += Math.max(1, Math.floor(silentMs / intervalMs));
    if (saysUnwritable(error) || this.#misses >= missesMax) this.#change(false, error);
  }

  #change(writable: boolean, cause: unknown): void {
    if (writable === this.#writable) return;
    this.#writable = writable;
    this.#refusals = 0;
    this.#reaction(writable, cause);
  }
}
