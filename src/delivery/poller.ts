/**
 * Looks into the outbox now and then, and soon after a hint.
 *
 * @module
 */

/** What the poller works with. */
export interface PollerOptions {
  /** Looks once; never throws. */
  readonly look: () => Promise<void>;
  readonly nowMs: () => number;
  /** Without a hint, the outbox is looked at this often. */
  readonly intervalMs: number;
}

// Hints of a busy node are looked into at most this often.
const hintGapMs = 20;

/** Runs one look at a time. */
export class Poller {
  readonly #options: PollerOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLooking = false;
  #isHinted = false;
  #isClosed = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Looks soon: at once, unless a look runs or has just run. */
  hint(): void {
    this.#isHinted = true;
    if (!this.#isLooking) this.#schedule(hintGapMs - (this.#options.nowMs() - this.#lookedAtMs));
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    if (afterMs <= 0) void this.#look();
    else this.#timer = setTimeout(() => void this.#look(), afterMs);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#isHinted = false;
    this.#lookedAtMs = this.#options.nowMs();
    await this.#options.look();
    this.#isLooking = false;
    // What was hinted at meanwhile may have been committed after the look began.
    this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);
  }

  /** Looks no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
