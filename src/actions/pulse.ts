/**
 * The pulse of the actions process, for whoever watches over it: asks the database again and again.
 *
 * @module
 */

import type { Job } from "../service/repeat.ts";
import type { Condition } from "../process/supervise.ts";

const pauseMs = 2_000;
/** Longer than a question may take before it is given up; one that is not given up shows that nothing else would be. */
const wedgedAfterMs = 20_000;

/** Whether the process's own loops go on, and whether the database answers them. */
export class Pulse implements Job<void> {
  readonly #ping: () => Promise<void>;
  readonly #nowMs: () => number;
  #answers = false;
  #hasAnswered = false;
  #endedAtMs: number;

  constructor(ping: () => Promise<void>, nowMs: () => number) {
    this.#ping = ping;
    this.#nowMs = nowMs;
    this.#endedAtMs = nowMs();
  }

  /** How it is now. */
  get condition(): Condition {
    return {
      isReady: this.#hasAnswered,
      isAlive: this.#nowMs() - this.#endedAtMs < wedgedAfterMs,
      status: this.#answers ? "performing" : "not performing: the database does not answer",
    };
  }

  pauseMs(): number {
    return pauseMs;
  }

  async runOnce(): Promise<void> {
    try {
      await this.#ping();
      this.#answers = this.#hasAnswered = true;
    } catch {
      this.#answers = false;
    }
    this.#endedAtMs = this.#nowMs();
  }
}
