/**
 * Counts requests that leave no event, refusals and duplicates, in memory, and writes the counts at intervals with
 * the times at which keys were last used.
 */

import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

// Bounds what a crash loses, and how often refusals cause a write.
const intervalMs = 5_000;
const deadlineMs = 3_000;

interface Refusals {
  readonly keyId: number;
  readonly reason: string;
  readonly field: string;
  count: number;
}

export class Totals {
  readonly #pool: Pool;
  readonly #observe: (observation: StoreObservation) => void;
  #duplicates = new Map<number, number>();
  #refusals = new Map<string, Refusals>();
  #used = new Map<number, string>();

  constructor(pool: Pool, observe: (observation: StoreObservation) => void) {
    this.#pool = pool;
    this.#observe = observe;
  }

  /** Counts a refused post by its code, under the field `""`, and by the reason for each faulty field. */
  refused(keyId: number, code: string, fields: Readonly<Record<string, string>> = {}): void {
    this.#count({ keyId, reason: code, field: "", count: 1 });
    const faults = Object.entries(fields);
    for (const [field, reason] of faults) this.#count({ keyId, reason, field, count: 1 });
    for (const reason of faults.length === 0 ? [code] : faults.map(([, reason]) => reason)) {
      this.#observe({ kind: "post_refused", reason });
    }
  }

  /** Counts and reports a key in a URL, where logs may have kept it. */
  exposed(keyId: number, requestId: string): void {
    this.refused(keyId, "key_in_url");
    this.#observe({ kind: "key_exposed", keyId, requestId });
  }

  /** Counts duplicates: posts answered with an earlier event. */
  duplicate(keyId: number, count = 1): void {
    this.#duplicates.set(keyId, (this.#duplicates.get(keyId) ?? 0) + count);
  }

  /** Records when a key was used, ISO 8601. */
  used(keyId: number, at: string): void {
    this.#used.set(keyId, at);
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Writes the counts; throws what {@linkcode Pool.run} throws, and then keeps them for the next run. */
  async runOnce(): Promise<void> {
    if (this.#refusals.size === 0 && this.#used.size === 0 && this.#duplicates.size === 0) return;
    const refusals = [...this.#refusals.values()];
    const used = [...this.#used];
    this.#refusals = new Map();
    const duplicates = [...this.#duplicates];
    this.#used = new Map();
    this.#duplicates = new Map();
    try {
      await this.#pool.run(deadlineMs, (sql) =>
        sql`
          select
            add_refusals(
              p_key_id => ${refusals.map((entry) => entry.keyId)}, p_reason => ${
          refusals.map((entry) => entry.reason)
        },
              p_field => ${refusals.map((entry) => entry.field)}, p_count => ${
          refusals.map((entry) => entry.count)
        },
              p_used_key_id => ${used.map(([keyId]) => keyId)}, p_used_at => ${used.map(([, at]) => at)}),
            add_duplicates(
              p_key_id => ${duplicates.map(([keyId]) => keyId)}, p_count => ${
          duplicates.map(([, count]) => count)
        })`);
    } catch (error) {
      // Bounded by the number of keys, reasons and fields.
      for (const entry of refusals) this.#count(entry);
      for (const [keyId, count] of duplicates) this.duplicate(keyId, count);
      for (const [keyId, at] of used) if (!this.#used.has(keyId)) this.#used.set(keyId, at);
      throw error;
    }
  }

  finish(): Promise<void> {
    return this.runOnce();
  }

  #count(more: Refusals): void {
    const id = `${more.keyId} ${more.reason} ${more.field}`;
    const entry = this.#refusals.get(id);
    if (entry === undefined) this.#refusals.set(id, more);
    else entry.count += more.count;
  }
}
