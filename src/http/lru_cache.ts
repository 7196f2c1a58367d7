/**
 * What is kept in memory up to a bound, the least recently used goes first.
 *
 * @module
 */

/** A map whose values together weigh no more than a bound. */
export class LruCache<K, V> {
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  // In the order of use: a map keeps the order in which its keys came.
  readonly #values = new Map<K, V>();
  #weight = 0;

  constructor(weightMax: number, weigh: (value: V) => number) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  /** What all values weigh. */
  get weight(): number {
    return this.#weight;
  }

  /** The value, which is the most recently used then. */
  get(key: K): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Keeps a value, if need be in place of others; one that is over the bound by itself is not kept. */
  put(key: K, value: V): void {
    this.drop(key);
    const weight = this.#weigh(value);
    if (weight > this.#weightMax) return;
    this.#values.set(key, value);
    this.#weight += weight;
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#weightMax) break;
      this.drop(oldest);
    }
  }

  /** Keeps it no longer. */
  drop(key: K): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weigh(value);
  }
}
