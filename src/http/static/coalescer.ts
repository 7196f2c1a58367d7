/**
 * One round of work for all who ask at about the same time.
 *
 * @module
 */

/**
 * Runs one round of a job at a time for each key. Who asks during a round gets the next one, together with all
 * who ask until it begins: nobody is told what was true before the question, and a thousand questions at once
 * cost two rounds.
 */
export class Coalescer<T> {
  readonly #running = new Map<string, { next: Promise<T> | null; readonly current: Promise<T> }>();

  /** The outcome of a round that begins after this call. */
  ask(key: string, job: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, job);
    const again = () => this.#begin(key, job);
    running.next ??= running.current.then(again, again);
    return running.next;
  }

  #begin(key: string, job: () => Promise<T>): Promise<T> {
    const current = job();
    const round = { next: null, current };
    this.#running.set(key, round);
    const done = () => {
      if (round.next === null) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}
