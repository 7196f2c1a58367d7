/**
 * API keys as the serving paths read them: by digest, in batches, with a cache that may lead a
 * request towards its commit but never decides an answer by itself.
 *
 * @module
 */

import type { KeySurface } from "../contract/api_key.ts";
import type { Rate } from "../contract/limits.ts";
import type { Pool } from "./sql.ts";

/** An active key. */
export interface ApiKey {
  readonly id: number;
  readonly surface: KeySurface;
  readonly tenantId: number;
  /** The lead's source. */
  readonly label: string;
  /** A raised limit that is in force, or `null` for the published one. */
  readonly raisedRate: Rate | null;
}

interface Cached {
  readonly key: ApiKey;
  readonly verifiedAtMs: number;
}

interface Lookup {
  readonly resolve: (key: ApiKey | null) => void;
  readonly reject: (error: unknown) => void;
}

// Bounds how long a raised limit outlives its window and a change of limits goes unseen.
const cacheMaxAgeMs = 5_000;
const cacheKeysMax = 10_000;
const lookupDeadlineMs = 5_000;
const lookupBatchMax = 1_000;

/** Reads keys by their SHA-256 digest, given as 64 hex digits. */
export class KeyStore {
  readonly #pool: Pool;
  readonly #nowMs: () => number;
  readonly #cache = new Map<string, Cached>();
  #waiting = new Map<string, Lookup[]>();
  #running = false;

  constructor(pool: Pool, nowMs: () => number) {
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  /**
   * A key that was active not long ago, without a query; good enough to go on towards a commit, which
   * checks again, but not to answer by. No negative answers are kept: a new key works at once.
   */
  cached(digest: string, maxAgeMs: number = cacheMaxAgeMs): ApiKey | null {
    const entry = this.#cache.get(digest);
    return entry !== undefined && this.#nowMs() - entry.verifiedAtMs <= maxAgeMs ? entry.key : null;
  }

  /**
   * The active key with this digest as the store has it now, or `null`. Lookups that wait while one
   * runs share the next query.
   *
   * @throws {Unavailable} when the store cannot be read
   */
  find(digest: string): Promise<ApiKey | null> {
    return new Promise((resolve, reject) => {
      const lookups = this.#waiting.get(digest);
      if (lookups === undefined) this.#waiting.set(digest, [{ resolve, reject }]);
      else lookups.push({ resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  /** Forgets a key that a commit has found revoked. */
  forget(digest: string): void {
    this.#cache.delete(digest);
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, lookupBatchMax);
      for (const [digest] of batch) this.#waiting.delete(digest);
      try {
        const startedAtMs = this.#nowMs();
        const keys = await this.#read(batch.map(([digest]) => digest));
        for (const [digest, lookups] of batch) {
          const key = keys.get(digest) ?? null;
          this.#remember(digest, key, startedAtMs);
          for (const lookup of lookups) lookup.resolve(key);
        }
      } catch (error) {
        for (const [, lookups] of batch) for (const lookup of lookups) lookup.reject(error);
      }
    }
    this.#running = false;
  }

  #remember(digest: string, key: ApiKey | null, verifiedAtMs: number): void {
    this.#cache.delete(digest);
    if (key === null) return;
    this.#cache.set(digest, { key, verifiedAtMs });
    if (this.#cache.size > cacheKeysMax) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
  }

  async #read(digests: string[]): Promise<Map<string, ApiKey>> {
    const rows = await this.#pool.run(lookupDeadlineMs, (sql) =>
      sql<
        {
          digest: string;
          id: number;
          surface: KeySurface;
          tenant_id: number;
          label: string;
          per_minute: number | null;
          burst: number | null;
        }[]
      >`
        select encode(k.digest, 'hex') as digest, k.id, k.surface, k.tenant_id, k.label,
          case when k.limit_until > service_clock() then k.limit_per_minute end as per_minute,
          case when k.limit_until > service_clock() then k.limit_burst end as burst
        from unnest(${digests}::text[]) as d (digest)
        join api_key as k on k.digest = decode(d.digest, 'hex') and k.revoked_at is null`);
    return new Map(rows.map((row) => [row.digest, {
      id: row.id,
      surface: row.surface,
      tenantId: row.tenant_id,
      label: row.label,
      raisedRate: row.per_minute === null || row.burst === null
        ? null
        : { perMinute: row.per_minute, burst: row.burst },
    }]));
  }
}
