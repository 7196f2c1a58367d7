/**
 * How fast deliveries end, of late.
 *
 * @module
 */

// Shorter, and a pause of the process would pass for the pace.
const windowMs = 50;

/** Counts deliveries that end; time is passed in, in milliseconds. */
export class Pace {
  #ended = 0;
  #sinceMs: number;
  #perMs = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A delivery has ended. */
  ended(): void {
    this.#ended += 1;
  }

  /** How many will end within `ms`, if they go on as they did. */
  expected(ms: number, nowMs: number): number {
    const elapsedMs = nowMs - this.#sinceMs;
    if (elapsedMs >= windowMs) {
      this.#perMs = this.#ended / elapsedMs;
      this.#ended = 0;
      this.#sinceMs = nowMs;
    }
    return Math.floor(this.#perMs * ms);
  }
}
