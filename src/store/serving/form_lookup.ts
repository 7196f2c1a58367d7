/**
 * Form definitions as the forms endpoint reads them: by tenant and form key, in batches, with a cache.
 *
 * @module
 */

import { Lookup, onPrimary } from "./lookup.ts";
import type { Pool } from "../pool.ts";

/** What an operator has defined of a form. */
export interface Form {
  readonly id: number;
  readonly formKey: string;
  /** Names of fields, at least one. */
  readonly required: readonly string[];
  /** Submissions with this score or more are held; `null` for the service's default. */
  readonly threshold: number | null;
  readonly blocked: readonly string[];
}

/**
 * What a form key looks like.
 *
 * Chosen: letters and digits with `.`, `_` and `-` inside, any case, at most 64: it stands in the address as it is,
 * and no client has to encode any of that.
 */
export const formKeyShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const deadlineMs = 5_000;

/** Reads forms. A change is known within five seconds, a new form at once. */
export class FormStore {
  readonly #lookup: Lookup<Form>;

  constructor(pool: Pool, nowMs: () => number) {
    this.#lookup = new Lookup({ read: (ids) => readForms(pool, ids), nowMs });
  }

  /**
   * The form as it was at most five seconds ago, or `null`. What no form key can be costs no query.
   *
   * @throws {Unavailable} when the store cannot be read
   */
  async find(tenantId: number, formKey: string): Promise<Form | null> {
    if (!formKeyShape.test(formKey)) return null;
    const id = `${tenantId} ${formKey}`;
    return this.#lookup.cached(id) ?? await this.#lookup.find(id);
  }
}

async function readForms(pool: Pool, ids: readonly string[]): Promise<Map<string, Form>> {
  const wanted = ids.map((id) => id.split(" ") as [string, string]);
  const rows = await pool.run(
    deadlineMs,
    (sql) =>
      sql<(Omit<Form, "formKey"> & { is_standby: boolean; tenant_id: number; form_key: string })[]>`
      select p.is_standby, f.id, f.tenant_id, f.form_key, f.required, f.threshold, f.blocked
      from (select pg_is_in_recovery() as is_standby) as p
      left join (
        unnest(${wanted.map(([tenantId]) => Number(tenantId))}::int[], ${
        wanted.map(([, formKey]) => formKey)
      }::text[]) as w (tenant_id, form_key)
        join form as f on f.tenant_id = w.tenant_id and f.form_key = w.form_key and f.removed_at is null
      ) on true`,
  );
  return new Map(
    onPrimary(rows).map(({ tenant_id, form_key: formKey, id, required, threshold, blocked }) => [
      `${tenant_id} ${formKey}`,
      { id, formKey, required, threshold, blocked },
    ]),
  );
}
