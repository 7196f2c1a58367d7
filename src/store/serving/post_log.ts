/** Buffers the posts that made no event, and writes them to the post log. */

import type postgres from "postgres";
import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

/** A duplicate (`eventId` is the first event's) or a refused post (`error` is its code) with an active key. */
export type LoggedPost =
  & {
    readonly keyId: number;
    readonly requestId: string | null;
    readonly status: number;
    readonly idempotencyKey: string | null;
    /** On the clock of {@linkcode PostLogOptions.nowMs}. */
    readonly arrivedAtMs: number;
  }
  & (
    | { readonly eventId: string; readonly isCollision: boolean }
    | { readonly error: string; readonly fields?: Readonly<Record<string, string>> }
  );

export interface PostLogOptions {
  readonly pool: Pool;
  readonly observe: (observation: StoreObservation) => void;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

// Longer than add_posts waits for its lock, so that a late commit is not logged twice.
const deadlineMs = 5_000;
// At about 1 KiB each, 5 MiB: what an outage can use, and lose if the process ends.
const rowsMax = 5_000;
// A key within its published limit has at most 151 refused posts in the 5 s between two writes, one with six times that limit
// at most 906.
const rowsPerKeyMax = 1_000;
// About a millisecond of the event loop.
const batchMax = 1_000;

/** The buffer of the post log; what exceeds its bounds is only counted. */
export class PostLog {
  readonly #options: PostLogOptions;
  readonly #rows: LoggedPost[] = [];
  readonly #countByKey = new Map<number, number>();
  /** When the keys of which the log is full for today may be logged again. */
  readonly #fullUntilMs = new Map<number, number>();
  #writing: Promise<void> | null = null;

  constructor(options: PostLogOptions) {
    this.#options = options;
  }

  add(post: LoggedPost): void {
    const { keyId } = post;
    const count = this.#countByKey.get(keyId) ?? 0;
    if (this.#rows.length >= rowsMax || count >= rowsPerKeyMax || this.#isFull(keyId)) {
      return this.#options.observe({ kind: "post_not_logged" });
    }
    this.#countByKey.set(keyId, count + 1);
    this.#rows.push(post);
  }

  #isFull(keyId: number): boolean {
    const untilMs = this.#fullUntilMs.get(keyId);
    if (untilMs === undefined) return false;
    if (this.#options.nowMs() < untilMs) return true;
    this.#fullUntilMs.delete(keyId);
    return false;
  }

  /** Writes the buffer. If this throws what {@linkcode Pool.run} throws, the next call writes the rest. */
  write(): Promise<void> {
    // The process may end during a write: a second one would log the same rows.
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#rows.length > 0) {
      const batch = this.#rows.slice(0, batchMax);
      const full = await this.#options.pool.run(deadlineMs, (sql) => this.#insert(sql, batch));
      this.#rows.splice(0, batch.length);
      for (const { keyId } of batch) {
        const rest = (this.#countByKey.get(keyId) ?? 0) - 1;
        if (rest > 0) this.#countByKey.set(keyId, rest);
        else this.#countByKey.delete(keyId);
      }
      for (const { key_id: keyId, opens_in_ms: ms } of full) {
        this.#fullUntilMs.set(keyId, this.#options.nowMs() + ms);
      }
    }
  }

  #insert(sql: postgres.Sql, batch: readonly LoggedPost[]) {
    const nowMs = this.#options.nowMs();
    const posts = batch.map((post) => ({
      key_id: post.keyId,
      age_ms: nowMs - post.arrivedAtMs,
      request_id: post.requestId,
      status: post.status,
      idempotency_key: post.idempotencyKey,
      ...resultOf(post),
    }));
    return sql<{ key_id: number; opens_in_ms: number }[]>`select * from add_posts(${JSON.stringify(posts)})`;
  }
}

function resultOf(post: LoggedPost) {
  return "eventId" in post
    ? { event_id: post.eventId, is_collision: post.isCollision }
    : { error: post.error, fields: post.fields };
}
