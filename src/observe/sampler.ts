/** Minute samples of this process for the console's plots. */

import type { Sample } from "../store/jobs/samples.ts";

/** The sampler's dependencies. */
export interface SamplerParts {
  /** Counts since the start, and current figures. */
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

  /** Writes a sample; if that fails, throws, and the next one includes its counts. */
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

  /** Writes the rest if possible. */
  async finish(): Promise<void> {
    const now = this.#parts.read();
    if (counts.some((name) => now[name] > this.#before[name])) await this.runOnce().catch(() => {});
  }
}
