/** A map that evicts the least recently used values when the total weight of its values exceeds a limit. */
export class LruCache<K, V> {
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  /** Ordered by last use, because a Map iterates in insertion order. */
  readonly #values = new Map<K, V>();
  #weight = 0;

  constructor(weightMax: number, weigh: (value: V) => number) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  /** Returns the value and marks it as most recently used. */
  get(key: K): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Replaces a key's value and evicts others if necessary; a value that alone exceeds the limit is not stored. */
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

  drop(key: K): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weigh(value);
  }
}
