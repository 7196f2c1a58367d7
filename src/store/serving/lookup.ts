/**
 * Reads rows by an id in batches, with a cache of those that were found.
 *
 * @module
 */

import { Unavailable } from "../unavailable.ts";

interface Cached<Value> {
  readonly value: Value;
  readonly readAtMs: number;
}

interface Waiting<Value> {
  readonly resolve: (value: Value | null) => void;
  readonly reject: (error: unknown) => void;
}

/** How a {@linkcode Lookup} reads. */
export interface LookupOptions<Value> {
  /** Reads what there is of some ids in one query. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

// Bounds how long a change of the row goes unseen.
const cacheMaxAgeMs = 5_000;
const cacheMax = 10_000;
const batchMax = 1_000;

/**
 * The rows of a statement that says of its server in the same breath whether it is a standby (`is_standby`, in one row at
 * least, which has no `id` when there is nothing else in it): a standby may lag, and what it does not find may be there.
 *
 * @throws {Unavailable} when it is one
 */
export function onPrimary<Row extends { readonly id: number | null }>(
  rows: readonly (Row & { readonly is_standby: boolean })[],
): Row[] {
  if (rows[0]?.is_standby !== false) throw new Unavailable("the server is a standby and may lag");
  return rows.filter(({ id }) => id !== null);
}

/** Rows by id. No negative answers are kept: what is added is found at once. */
export class Lookup<Value> {
  readonly #options: LookupOptions<Value>;
  readonly #cache = new Map<string, Cached<Value>>();
  readonly #waiting = new Map<string, Waiting<Value>[]>();
  #running = false;

  constructor(options: LookupOptions<Value>) {
    this.#options = options;
  }

  /** What was found not long ago, without a query. */
  cached(id: string, maxAgeMs: number = cacheMaxAgeMs): Value | null {
    const entry = this.#cache.get(id);
    return entry !== undefined && this.#options.nowMs() - entry.readAtMs <= maxAgeMs ? entry.value : null;
  }

  /**
   * What the store has now, or `null`. Lookups that wait while one runs share the next query. Throws what the
   * reading throws.
   */
  find(id: string): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) this.#waiting.set(id, [{ resolve, reject }]);
      else waiting.push({ resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  /** Forgets what is known to be no longer true. */
  forget(id: string): void {
    this.#cache.delete(id);
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, batchMax);
      for (const [id] of batch) this.#waiting.delete(id);
      try {
        const startedAtMs = this.#options.nowMs();
        const values = await this.#options.read(batch.map(([id]) => id));
        for (const [id, waiting] of batch) {
          const value = values.get(id) ?? null;
          this.#remember(id, value, startedAtMs);
          for (const { resolve } of waiting) resolve(value);
        }
      } catch (error) {
        for (const [, waiting] of batch) for (const { reject } of waiting) reject(error);
      }
    }
    this.#running = false;
  }

  #remember(id: string, value: Value | null, readAtMs: number): void {
    this.#cache.delete(id);
    if (value === null) return;
    this.#cache.set(id, { value, readAtMs });
    if (this.#cache.size > cacheMax) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
  }
}
