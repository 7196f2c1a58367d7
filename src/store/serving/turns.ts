/**
 * When a committer that is one of several on a machine commits next. Time is passed in.
 *
 * A batch is what arrives during the commit before it. Several committers would each take a share of what arrives, so their
 * batches would be that much smaller, and a batch costs about as much as two leads, in the service and in PostgreSQL. So each takes
 * as many times longer between two commits as there are committers: together they commit as often as one would.
 *
 * - One that was idle for that long commits at once, and so does one for which enough waits.
 * - Whether more will come while it waits nobody knows beforehand: after two waits in a row that gathered nothing one is left out,
 *   after four two, and so on, so that somebody who posts one lead after the other hardly waits.
 *
 * Found in the simulation of `test/store/serving/turns.test.ts`, commits a lead at 2,000 leads/s and 1 ms a commit: one committer 0.43;
 * four with turns 0.45, without 0.90; at 6,000 leads/s 0.12, 0.12 and 0.55. Rejected: to leave out twice as many waits after each
 * that gathered nothing, 0.55 of 0.43; a turn that the parent gives, because each commit would be two messages between processes;
 * one committer in the parent, because each lead would be.
 *
 * @module
 */

// A batch of so many has little left to gain.
const enoughEntries = 32;
// A slow disk makes batches large by itself; nobody waits longer for processor time to be saved.
const pauseMsMax = 20;
const skipsMax = 16;

/** The turns of one committer. */
export class Turns {
  readonly #committers: number;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #fruitless = 0;
  #toSkip = 0;
  #onEnough: () => void = () => {};

  /** `committers` are those of the machine, this one included. */
  constructor(committers: number) {
    this.#committers = committers;
  }

  /** How many entries are worth a commit at once. */
  get enough(): number {
    return enoughEntries;
  }

  /** Waits until the next commit may begin, or is worth it; `entries` are those that wait for it. */
  async come(entries: () => number, nowMs: number): Promise<void> {
    const before = entries();
    const waitMs = this.waitMs(nowMs, before);
    if (waitMs === 0) return;
    await new Promise<void>((settle) => {
      const timer = setTimeout(settle, waitMs);
      this.#onEnough = () => {
        clearTimeout(timer);
        settle();
      };
    });
    this.#onEnough = () => {};
    this.waited(entries() - before);
  }

  /** There are so many entries now. */
  entered(entries: number): void {
    if (entries >= enoughEntries) this.#onEnough();
  }

  /** How long it is to wait with so many entries before it commits; 0: not at all. */
  waitMs(nowMs: number, entries: number): number {
    const leftMs = this.#nextAtMs - nowMs;
    if (leftMs <= 0 || entries >= enoughEntries) return 0;
    if (this.#toSkip === 0) return leftMs;
    this.#toSkip -= 1;
    return 0;
  }

  /** It has waited, and so many entries have come meanwhile. */
  waited(gathered: number): void {
    this.#fruitless = gathered > 0 ? 0 : this.#fruitless + 1;
    this.#toSkip = Math.min(skipsMax, Math.floor(this.#fruitless / 2));
  }

  /** A commit has ended, and took so long. */
  ended(tookMs: number, nowMs: number): void {
    this.#nextAtMs = nowMs + Math.min(pauseMsMax, (this.#committers - 1) * tookMs);
  }
}
