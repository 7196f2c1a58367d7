/** Records minute samples of this process for the console's plots. */

import type { Sample } from "../store/jobs/samples.ts";

/** The sampler's dependencies. */
export interface SamplerParts {
  /** Returns the counts since the process started and the current values. */
  readonly read: () => Sample;
  readonly write: (sample: Sample) => Promise<void>;
}

const intervalMs = 60_000;
const deltaNames = ["accepted", "refused", "delivered", "failed", "died"] as const;

/** Writes a sample per run. */
export class Sampler {
  readonly #parts: SamplerParts;
  #previous: Sample;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
    this.#previous = parts.read();
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Writes a sample. If this rejects, the next sample includes the counts. */
  async runOnce(): Promise<void> {
    const now = this.#parts.read();
    const previous = this.#previous;
    const deltas = Object.fromEntries(deltaNames.map((name) => [name, now[name] - previous[name]]));
    const refusals = Object.fromEntries(
      Object.entries(now.refusals)
        .map(([code, count]) => [code, count - (previous.refusals[code] ?? 0)] as const)
        .filter(([, count]) => count > 0),
    );
    await this.#parts.write({ ...now, ...deltas, refusals });
    this.#previous = now;
  }

  /** Writes the remaining counts, if possible. */
  async finish(): Promise<void> {
    const now = this.#parts.read();
    if (deltaNames.some((name) => now[name] > this.#previous[name])) await this.runOnce().catch(() => {});
  }
}
