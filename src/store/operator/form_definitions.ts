import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { isoTime } from "./admin_pool.ts";

export interface FormDefinition {
  /** The names of the fields that a submission must contain; at least one. */
  readonly required: readonly string[];
  /** The spam score from which submissions are held; `null` means the service's default. */
  readonly threshold: number | null;
  readonly blocked: readonly string[];
}

interface ListedForm extends FormDefinition {
  readonly tenant: string;
  readonly formKey: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

interface FormName {
  readonly tenantId: number;
  readonly formKey: string;
}

/** Adds a form, or restores a removed one with a new definition, and audits it; returns `false` if the form exists. */
export async function addForm(
  pool: Pool,
  { tenantId, formKey }: FormName,
  definition: FormDefinition,
): Promise<boolean> {
  const { required, threshold, blocked } = definition;
  const rows = await query(pool, (sql) =>
    sql`
      with added as (
        insert into form as f (tenant_id, form_key, required, threshold, blocked)
        values (${tenantId}, ${formKey}, ${[...required]}, ${threshold}, ${[...blocked]})
        on conflict (tenant_id, form_key) do update
          set required = excluded.required, threshold = excluded.threshold, blocked = excluded.blocked,
            removed_at = null
          where f.removed_at is not null
        returning tenant_id, form_key
      )
      ${auditCall(sql, "form.add")} from added as c`);
  return rows.length === 1;
}

/** Changes a form, audits the change, and returns the new definition, or `null` if there is no such form. */
export async function changeForm(
  pool: Pool,
  { tenantId, formKey }: FormName,
  change: Partial<FormDefinition>,
): Promise<FormDefinition | null> {
  const { required, threshold, blocked } = change;
  const row = await queryOne(pool, (sql) =>
    sql<FormDefinition[]>`
      with changed as (
        update form set
          required = ${required === undefined ? sql`required` : [...required]},
          threshold = ${threshold === undefined ? sql`threshold` : threshold},
          blocked = ${blocked === undefined ? sql`blocked` : [...blocked]}
        where tenant_id = ${tenantId} and form_key = ${formKey} and removed_at is null
        returning tenant_id, form_key, required, threshold, blocked
      )
      ${auditCall(sql, "form.change")}, c.required, c.threshold, c.blocked from changed as c`);
  return row === null ? null : { required: row.required, threshold: row.threshold, blocked: row.blocked };
}

/** Removes a form and audits it: posts to it get 404, its submissions stay. Returns `false` if there is no such form. */
export async function removeForm(pool: Pool, { tenantId, formKey }: FormName): Promise<boolean> {
  const rows = await query(pool, (sql) =>
    sql`
      with removed as (
        update form set removed_at = service_clock()
        where tenant_id = ${tenantId} and form_key = ${formKey} and removed_at is null
        returning tenant_id, form_key
      )
      ${auditCall(sql, "form.remove")} from removed as c`);
  return rows.length === 1;
}

const auditCall = (sql: Parameters<Parameters<Pool["run"]>[1]>[0], action: string) =>
  sql`select note_audit(${action},
    (select t.slug || '/' || c.form_key from tenant as t where t.id = c.tenant_id))`;

/** Lists the forms of one tenant or, with `null`, of all tenants, by tenant and form key. */
export async function listForms(pool: Pool, tenantId: number | null): Promise<ListedForm[]> {
  return await query(pool, (sql) =>
    sql<ListedForm[]>`
      select t.slug as tenant, f.form_key as "formKey", f.required, f.threshold, f.blocked,
        ${isoTime(sql, sql`f.created_at`)} as "createdAt"
      from form as f join tenant as t on t.id = f.tenant_id
      where f.removed_at is null ${tenantId === null ? sql`` : sql`and f.tenant_id = ${tenantId}`}
      order by t.slug, f.form_key`);
}
