/**
 * Tries a connection to the actions tier when the breaker wants to know: while it is away, and when nothing was due for
 * a while.
 *
 * @module
 */

import type { Breaker } from "./breaker.ts";
import type { TierFailure } from "./tier_failure.ts";

/** What the watch works with. */
export interface WatchOptions {
  /** Tries once: `null` when a connection is there; never throws. */
  readonly probe: () => Promise<TierFailure | null>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly onFailure: (failure: TierFailure) => void;
}

/** Tries until it is closed, once at a time. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isProbing = false;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The breaker has changed, or the process begins. */
  look(): void {
    if (this.#isProbing || this.#isClosed) return;
    const { breaker, nowMs } = this.#options;
    clearTimeout(this.#timer);
    const leftMs = breaker.probeAtMs - nowMs();
    if (leftMs <= 0) void this.#probe();
    else this.#timer = setTimeout(() => this.look(), Math.ceil(leftMs));
  }

  async #probe(): Promise<void> {
    const { breaker, nowMs } = this.#options;
    this.#isProbing = true;
    const failure = await this.#options.probe();
    this.#isProbing = false;
    if (this.#isClosed) return;
    if (failure === null) breaker.reached(nowMs());
    else {
      this.#options.onFailure(failure);
      breaker.failed(failure, { nowMs: nowMs(), isSent: false, isProbe: true });
    }
    this.look();
  }

  /** Tries no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
