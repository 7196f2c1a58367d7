/**
 * Once a minute, what this process has done since the last time and how things stand, for the console's plots.
 *
 * @module
 */

import type { Sample } from "../store/jobs/samples.ts";

/** The counts since the start of the process, and the figures as they are now. */
export type Standing = Sample;

/** What the sampler works with. */
export interface SamplerParts {
  readonly read: () => Standing;
  readonly write: (sample: Sample) => Promise<void>;
  /** A sample could not be written; the next one has its counts too. */
  readonly onFailure: (error: unknown) => void;
}

const intervalMs = 60_000;

/** Samples until it is closed. */
export class Sampler {
  readonly #parts: SamplerParts;
  #before: Standing;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
    this.#before = parts.read();
    this.#schedule();
  }

  #schedule(): void {
    this.#timer = setTimeout(async () => {
      await this.runOnce();
      if (!this.#closed) this.#schedule();
    }, intervalMs);
  }

  /** Writes a sample now. */
  async runOnce(): Promise<void> {
    const now = this.#parts.read();
    const before = this.#before;
    try {
      await this.#parts.write({
        ...now,
        accepted: now.accepted - before.accepted,
        refused: now.refused - before.refused,
        delivered: now.delivered - before.delivered,
        failed: now.failed - before.failed,
      });
      this.#before = now;
    } catch (error) {
      if (!this.#closed) this.#parts.onFailure(error);
    }
  }

  /** Writes what is left to be counted and stops. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const now = this.#parts.read();
    const counted = ["accepted", "refused", "delivered", "failed"] as const;
    if (counted.some((name) => now[name] > this.#before[name])) await this.runOnce();
  }
}
