/** Reads API keys and forms in batches, and caches them. */

import type { Rate } from "../../contract/limits.ts";
import type { Pool } from "../pool.ts";
import { Unavailable } from "../unavailable.ts";

interface Cached<Value> {
  readonly value: Value;
  readonly readAtMs: number;
}

interface Waiting<Value> {
  readonly resolve: (value: Value | null) => void;
  readonly reject: (error: unknown) => void;
}

export interface LookupOptions<Value> {
  /** Reads the rows with these ids, in one query. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  readonly nowMs: () => number;
}

// Bounds the delay until a changed row takes effect.
const cacheMaxAgeMs = 5_000;
const cacheMax = 10_000;
const batchMax = 1_000;

/**
 * Returns the rows that have an `id`, without the column `is_standby`.
 *
 * @throws {Unavailable} when the server is a standby, which may lag and therefore lack a row
 */
function requirePrimary<Row extends { readonly id: number | null; readonly is_standby: boolean }>(
  rows: readonly Row[],
): Omit<Row, "is_standby">[] {
  if (rows[0]?.is_standby !== false) throw new Unavailable("the server is a standby and may lag");
  return rows.filter(({ id }) => id !== null).map(({ is_standby: _, ...row }) => row);
}

/** Reads rows by id. Misses are not cached, so that new rows are found at once. */
class Lookup<Value> {
  readonly #options: LookupOptions<Value>;
  readonly #cache = new Map<string, Cached<Value>>();
  readonly #waiting = new Map<string, Waiting<Value>[]>();
  #running = false;

  constructor(options: LookupOptions<Value>) {
    this.#options = options;
  }

  /** Returns a cached row that was read at most `maxAgeMs` ago, or `null`. */
  cached(id: string, maxAgeMs: number = cacheMaxAgeMs): Value | null {
    const entry = this.#cache.get(id);
    return entry !== undefined && this.#options.nowMs() - entry.readAtMs <= maxAgeMs ? entry.value : null;
  }

  /**
   * Reads the current row, or `null` if there is none. Waiting lookups share the next query. Throws what `read` throws.
   */
  find(id: string): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) this.#waiting.set(id, [{ resolve, reject }]);
      else waiting.push({ resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  /** Drops a cached row that is known to be outdated. */
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

/** An active key: neither revoked nor suspended with its tenant. */
export interface ApiKey {
  readonly id: number;
  readonly tenantId: number;
  readonly tenant: string;
  readonly label: string;
  /** The raised limit that applies now; `null` if the published limit applies. */
  readonly raisedRate: Rate | null;
}

const deadlineMs = 5_000;

/**
 * Reads active keys by SHA-256 digest (64 hex digits). A cached key may have been revoked, so commits check again.
 */
export class KeyStore extends Lookup<ApiKey> {
  constructor(pool: Pool, nowMs: () => number) {
    super({ read: (digests) => readKeys(pool, digests), nowMs });
  }
}

async function readKeys(pool: Pool, digests: readonly string[]): Promise<Map<string, ApiKey>> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<(ApiKey & { is_standby: boolean; digest: string })[]>`
      select p.is_standby, encode(k.digest, 'hex') as digest, k.id, k.tenant_id as "tenantId", t.slug as tenant, k.label,
        case when k.limit_until > service_clock() then
          json_build_object('perMinute', k.limit_per_minute, 'burst', k.limit_burst)
        end as "raisedRate"
      from (select pg_is_in_recovery() as is_standby) as p
      left join (
        unnest(${[...digests]}::text[]) as d (digest)
        join api_key as k
          on k.digest = decode(d.digest, 'hex') and k.revoked_at is null and k.suspended_at is null
        join tenant as t on t.id = k.tenant_id
      ) on true`);
  return new Map(requirePrimary(rows).map(({ digest, ...key }) => [digest, key]));
}

export interface Form {
  readonly id: number;
  readonly formKey: string;
  readonly required: readonly string[];
  /** The spam score from which submissions are held; `null`: the service's default. */
  readonly threshold: number | null;
  readonly blocked: readonly string[];
}

/** Matches a form key. Chosen: up to 64 characters that need no encoding in a URL, the first a letter or digit. */
export const formKeyPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Reads forms. A change takes effect within 5 s, a new form at once. */
export class FormStore {
  readonly #lookup: Lookup<Form>;

  constructor(pool: Pool, nowMs: () => number) {
    this.#lookup = new Lookup({ read: (ids) => readForms(pool, ids), nowMs });
  }

  /** Returns the form as it was at most 5 s ago, or `null` if there is none. An invalid form key causes no query. */
  async find(tenantId: number, formKey: string): Promise<Form | null> {
    if (!formKeyPattern.test(formKey)) return null;
    const id = `${tenantId} ${formKey}`;
    return this.#lookup.cached(id) ?? await this.#lookup.find(id);
  }
}

async function readForms(pool: Pool, ids: readonly string[]): Promise<Map<string, Form>> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<(Form & { is_standby: boolean; key: string })[]>`
      select p.is_standby, f.key, f.id, f.form_key as "formKey", f.required, f.threshold, f.blocked
      from (select pg_is_in_recovery() as is_standby) as p
      left join (
        select w.key, f.*
        from unnest(${[...ids]}::text[]) as w (key)
        join form as f
          on f.tenant_id = split_part(w.key, ' ', 1)::int and f.form_key = split_part(w.key, ' ', 2)
        where f.removed_at is null
      ) as f on true`);
  return new Map(requirePrimary(rows).map(({ key, ...form }) => [key, form]));
}
