/**
 * Once a minute, what this process has done since the last time and how things stand, for the console's plots.
 *
 * @module
 */

import type { Sample } from "../store/jobs/samples.ts";

/** What the sampler works with. */
export interface SamplerParts {
  /** The counts since the start of the process, and the figures as they are now. */
  readonly read: () => Sample;
  readonly write: (sample: Sample) => Promise<void>;
}

const intervalMs = 60_000;
const counts = ["accepted", "refused", "delivered", "failed", "died"] as const;

/** Takes samples. */
export class Sampler {
  readonly #parts: SamplerParts;
  #before: Sample;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
    this.#before = parts.read();
  }

  /** Until the next run. */
  pauseMs(): number {
    return intervalMs;
  }

  /** Writes a sample now. When that fails it throws, and the next one has its counts too. */
  async runOnce(): Promise<void> {
    const now = this.#parts.read();
    const before = this.#before;
    const since = Object.fromEntries(counts.map((name) => [name, now[name] - before[name]]));
    const refusals = Object.fromEntries(
      Object.entries(now.refusals)
        .map(([code, count]) => [code, count - (before.refusals[code] ?? 0)] as const)
        .filter(([, count]) => count > 0),
    );
    await this.#parts.write({ ...now, ...since, refusals });
    this.#before = now;
  }

  /** Writes what is left to be counted, if it can: nobody waits for a plot. */
  async finish(): Promise<void> {
    const now = this.#parts.read();
    if (counts.some((name) => now[name] > this.#before[name])) await this.runOnce().catch(() => {});
  }
}
