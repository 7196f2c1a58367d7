/**
 * Learns corrections of the spam score from labels, in the database (`learn_spam`), and keeps the current ones in memory: a
 * customer's for the customer's forms, and the operators' for all.
 */

import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

/** Learned weights in log-odds, by the hashes of words and pairs of words. */
export type Weights = Pick<ReadonlyMap<number, number>, "get" | "size">;

interface Scope {
  readonly version: string;
  readonly weights: Weights;
}

/** The scope of the operators' labels, in place of a slug. */
const operators = "";
const intervalMs = 5_000;
/** The number of customers whose corrections are kept, those changed last. Chosen: 250, which use 7 MiB, and twice that while all change. */
const scopesMax = 250;
/** The number of customers for whom one run learns. */
const learnedMax = 50;

/** All processes use the same corrections, from the database. */
export class SpamLearning {
  readonly #pool: Pool;
  readonly #isOn: boolean;
  /** The corrections by the customer's slug, with the version of each. */
  #scopes = new Map<string, Scope>();

  /** `isOn` is false if `FORMS_SPAM_LEARN` is off: what was learned is then removed. */
  constructor(pool: Pool, options: { readonly isOn: boolean }) {
    this.#pool = pool;
    this.#isOn = options.isOn;
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Returns the corrections for a customer's forms. */
  lessonsFor(tenant: string): Weights {
    return combined([this.#scopes.get(operators)?.weights, this.#scopes.get(tenant)?.weights]);
  }

  /** Learns from labels that have changed, and reads what other processes have learned. */
  async runOnce(): Promise<void> {
    if (!this.#isOn) return void await query(this.#pool, (sql) => sql`select forget_spam_lessons()`);
    for (let count = 0; count < learnedMax && await this.#learnNext(); count++);
    const versions = await query(this.#pool, (sql) =>
      sql<{ tenant: string; version: string }[]>`
        select coalesce(t.slug, ${operators}) as tenant, l.learned_at::text as version
        from spam_lessons as l left join tenant as t on t.id = l.tenant_id
        order by l.tenant_id <> 0, l.learned_at desc, l.tenant_id limit ${scopesMax + 1}`);
    const scopes = new Map<string, Scope>();
    for (const { tenant, version } of versions) {
      const known = this.#scopes.get(tenant);
      // One by one, so that no result occupies the event loop for long.
      const weights = known?.version === version ? known.weights : await readWeights(this.#pool, tenant);
      scopes.set(tenant, { version, weights });
    }
    this.#scopes = scopes;
  }

  /** Learns from the changed labels of one customer; returns whether there were any. */
  async #learnNext(): Promise<boolean> {
    const row = await queryOne(
      this.#pool,
      (sql) => sql<{ hasLearned: boolean }[]>`select learn_spam() as "hasLearned"`,
    );
    return row?.hasLearned ?? false;
  }
}

/** Reads the current corrections for a customer's forms. */
export async function readLessons(pool: Pool, tenant: string): Promise<Weights> {
  return combined([await readWeights(pool, operators), await readWeights(pool, tenant)]);
}

async function readWeights(pool: Pool, tenant: string): Promise<Weights> {
  const row = await queryOne(pool, (sql) =>
    sql<{ hashes: number[]; weights: number[] }[]>`
      select l.hashes, l.weights from spam_lessons as l
      where l.tenant_id = case ${tenant} when ${operators} then 0 else (select t.id from tenant as t where t.slug = ${tenant}) end`);
  return new Map(row?.hashes.map((hash, index) => [hash, (row.weights[index] as number) / 1000]));
}

/** Adds up the corrections for a word. */
function combined(scopes: readonly (Weights | undefined)[]): Weights {
  const [one, other] = scopes.filter((weights) => weights !== undefined && weights.size > 0) as Weights[];
  if (one === undefined || other === undefined) return one ?? new Map();
  return { size: one.size + other.size, get: (hash) => (one.get(hash) ?? 0) + (other.get(hash) ?? 0) };
}
