/**
 * API keys as the serving paths read them: by digest, in batches, with a cache that may lead a
 * request towards its commit but never decides an answer by itself.
 *
 * @module
 */

import type { Rate } from "../../contract/limits.ts";
import { Lookup, onPrimary } from "./lookup.ts";
import type { Pool } from "../pool.ts";

/** An active key: neither revoked, nor suspended with its tenant. */
export interface ApiKey {
  readonly id: number;
  readonly tenantId: number;
  /** The tenant's slug. */
  readonly tenant: string;
  /** The lead's source. */
  readonly label: string;
  /** A raised limit that is in force, or `null` for the published one. */
  readonly raisedRate: Rate | null;
}

const lookupDeadlineMs = 5_000;

/** Reads keys by their SHA-256 digest, given as 64 hex digits. */
export class KeyStore {
  readonly #lookup: Lookup<ApiKey>;

  constructor(pool: Pool, nowMs: () => number) {
    this.#lookup = new Lookup({ read: (digests) => readKeys(pool, digests), nowMs });
  }

  /**
   * A key that was active not long ago, without a query; good enough to go on towards a commit, which
   * checks again, but not to answer by. No negative answers are kept: a new key works at once.
   */
  cached(digest: string, maxAgeMs?: number): ApiKey | null {
    return this.#lookup.cached(digest, maxAgeMs);
  }

  /**
   * The active key with this digest as the store has it now, or `null`. Lookups that wait while one
   * runs share the next query.
   *
   * @throws {Unavailable} when the store cannot be read
   */
  find(digest: string): Promise<ApiKey | null> {
    return this.#lookup.find(digest);
  }

  /** Forgets a key that a commit has found revoked or suspended. */
  forget(digest: string): void {
    this.#lookup.forget(digest);
  }
}

async function readKeys(pool: Pool, digests: readonly string[]): Promise<Map<string, ApiKey>> {
  const rows = await pool.run(lookupDeadlineMs, (sql) =>
    sql<
      {
        is_standby: boolean;
        digest: string;
        id: number;
        tenant_id: number;
        tenant: string;
        label: string;
        per_minute: number | null;
        burst: number | null;
      }[]
    >`
      select p.is_standby, encode(k.digest, 'hex') as digest, k.id, k.tenant_id, t.slug as tenant, k.label,
        case when k.limit_until > service_clock() then k.limit_per_minute end as per_minute,
        case when k.limit_until > service_clock() then k.limit_burst end as burst
      from (select pg_is_in_recovery() as is_standby) as p
      left join (
        unnest(${[...digests]}::text[]) as d (digest)
        join api_key as k
          on k.digest = decode(d.digest, 'hex') and k.revoked_at is null and k.suspended_at is null
        join tenant as t on t.id = k.tenant_id
      ) on true`);
  return new Map(
    onPrimary(rows).map((row) => [row.digest, {
      id: row.id,
      tenantId: row.tenant_id,
      tenant: row.tenant,
      label: row.label,
      raisedRate: row.per_minute === null || row.burst === null
        ? null
        : { perMinute: row.per_minute, burst: row.burst },
    }]),
  );
}
