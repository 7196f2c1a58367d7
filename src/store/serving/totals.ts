/**
 * Counts refusals and duplicates in memory, and writes the counts, the keys' times of last use and the post log at
 * intervals.
 */

import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";
import { PostLog, type PostLogOptions } from "./post_log.ts";

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
  /** The posts that are counted here, and those that could not be stored. */
  readonly log: PostLog;

  constructor(options: PostLogOptions) {
    this.#pool = options.pool;
    this.#observe = options.observe;
    this.log = new PostLog(options);
  }

  /** Counts a refused post by its error code, under the field `""`, and by the reason for each invalid field. */
  refused(keyId: number, code: string, fields: Readonly<Record<string, string>> = {}): void {
    this.#count({ keyId, reason: code, field: "", count: 1 });
    const invalid = Object.entries(fields);
    for (const [field, reason] of invalid) this.#count({ keyId, reason, field, count: 1 });
    for (const reason of invalid.length === 0 ? [code] : invalid.map(([, reason]) => reason)) {
      this.#observe({ kind: "post_refused", reason });
    }
  }

  /** Counts and reports a key in a URL, where logs may contain it. */
  exposed(keyId: number, requestId: string): void {
    this.refused(keyId, "key_in_url");
    this.#observe({ kind: "key_exposed", keyId, requestId });
  }

  /** Counts duplicates that were posted with a key. */
  duplicate(keyId: number, count = 1): void {
    this.#duplicates.set(keyId, (this.#duplicates.get(keyId) ?? 0) + count);
  }

  /** Records that a key was used at a time, in ISO 8601. */
  used(keyId: number, at: string): void {
    this.#used.set(keyId, at);
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Writes the counts and the log. If this throws what {@linkcode Pool.run} throws, the next run writes them. */
  async runOnce(): Promise<void> {
    await this.#writeCounts();
    await this.log.write();
  }

  async #writeCounts(): Promise<void> {
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
      // The counts cannot grow without limit, because the keys, reasons and fields bound their number.
      for (const entry of refusals) this.#count(entry);
      for (const [keyId, count] of duplicates) this.duplicate(keyId, count);
      for (const [keyId, at] of used) if (!this.#used.has(keyId)) this.#used.set(keyId, at);
      throw error;
    }
  }

  finish(): Promise<void> {
    return this.runOnce();
  }

  #count(added: Refusals): void {
    const id = `${added.keyId} ${added.reason} ${added.field}`;
    const entry = this.#refusals.get(id);
    if (entry === undefined) this.#refusals.set(id, added);
    else entry.count += added.count;
  }
}
