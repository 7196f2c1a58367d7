/** Reads keys and forms in batches, with a cache of those found. */

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
  /** Reads the rows of some ids in one query. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  readonly nowMs: () => number;
}

// Bounds how long a change of a row goes unseen.
const cacheMaxAgeMs = 5_000;
const cacheMax = 10_000;
const batchMax = 1_000;

/**
 * The rows of a statement that also selects `is_standby`: a standby may lag, and must not answer "not found". A row
 * without `id` carries only `is_standby`.
 *
 * @throws {Unavailable} when the server is a standby
 */
function onPrimary<Row extends { readonly id: number | null; readonly is_standby: boolean }>(
  rows: readonly Row[],
): Omit<Row, "is_standby">[] {
  if (rows[0]?.is_standby !== false) throw new Unavailable("the server is a standby and may lag");
  return rows.filter(({ id }) => id !== null).map(({ is_standby: _, ...row }) => row);
}

/** Rows by id. Misses are not cached, so that new rows are found at once. */
export class Lookup<Value> {
  readonly #options: LookupOptions<Value>;
  readonly #cache = new Map<string, Cached<Value>>();
  readonly #waiting = new Map<string, Waiting<Value>[]>();
  #running = false;

  constructor(options: LookupOptions<Value>) {
    this.#options = options;
  }

  /** A row read at most `maxAgeMs` ago, without a query. */
  cached(id: string, maxAgeMs: number = cacheMaxAgeMs): Value | null {
    const entry = this.#cache.get(id);
    return entry !== undefined && this.#options.nowMs() - entry.readAtMs <= maxAgeMs ? entry.value : null;
  }

  /** The current row, or `null`. Lookups that wait share the next query. Throws what `read` throws. */
  find(id: string): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) this.#waiting.set(id, [{ resolve, reject }]);
      else waiting.push({ resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  /** Removes a row that is known to be outdated. */
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

/** An active key: neither revoked, nor suspended with its tenant. */
export interface ApiKey {
  readonly id: number;
  readonly tenantId: number;
  readonly tenant: string;
  readonly label: string;
  /** A raised limit in force; `null` for the published one. */
  readonly raisedRate: Rate | null;
}

const deadlineMs = 5_000;

/** Reads active keys by their SHA-256 digest, as 64 hex digits. Cached ones are not enough to answer by: commits check again. */
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
  return new Map(onPrimary(rows).map(({ digest, ...key }) => [digest, key]));
}

/** An operator's definition of a form. */
export interface Form {
  readonly id: number;
  readonly formKey: string;
  readonly required: readonly string[];
  /** Submissions with this score or more are held; `null`: the service's default. */
  readonly threshold: number | null;
  readonly blocked: readonly string[];
}

/** Chosen: up to 64 letters, digits, `.`, `_` and `-`, which no client has to encode in a URL. */
export const formKeyShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Reads forms. A change takes effect within five seconds, a new form at once. */
export class FormStore {
  readonly #lookup: Lookup<Form>;

  constructor(pool: Pool, nowMs: () => number) {
    this.#lookup = new Lookup({ read: (ids) => readForms(pool, ids), nowMs });
  }

  /** The form as it was at most five seconds ago, or `null`; an impossible form key costs no query. */
  async find(tenantId: number, formKey: string): Promise<Form | null> {
    if (!formKeyShape.test(formKey)) return null;
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
  return new Map(onPrimary(rows).map(({ key, ...form }) => [key, form]));
}
