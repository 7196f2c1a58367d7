/**
 * Tenants, as the operator sees them.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";

/** A tenant. */
interface Tenant {
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
  /** How many days the content of its events is kept; `null`: for ever. */
  readonly retentionDays: number | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Adds a tenant, and notes it; `false` when the slug is taken. */
export async function addTenant(
  pool: Pool,
  tenant: { readonly slug: string; readonly name: string; readonly sandbox: boolean },
): Promise<boolean> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql`
      with added as (
        insert into tenant (slug, name, sandbox) values (${tenant.slug}, ${tenant.name}, ${tenant.sandbox})
        on conflict (slug) do nothing
        returning slug, sandbox
      )
      select note_audit('tenant.add', a.slug, json_build_object('sandbox', a.sandbox))
      from added as a`);
  return rows.length === 1;
}

/** All tenants by slug. */
export async function listTenants(pool: Pool): Promise<Tenant[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<
        { slug: string; name: string; sandbox: boolean; retention_days: number | null; created_at: Date }[]
      >`
      select slug, name, sandbox, retention_days, created_at from tenant order by slug`,
  );
  return rows.map((row) => ({
    slug: row.slug,
    name: row.name,
    sandbox: row.sandbox,
    retentionDays: row.retention_days,
    createdAt: row.created_at.toISOString(),
  }));
}

/** Keeps the content of a tenant's events so many days, or with `null` for ever; `false` when there is no such tenant. */
export async function setRetention(pool: Pool, slug: string, days: number | null): Promise<boolean> {
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) => sql<{ done: boolean }[]>`select set_retention(${slug}, ${days}) as done`,
  );
  return row?.done ?? false;
}

/** The tenant with this slug as other statements need it, or `null`. */
export async function findTenant(
  pool: Pool,
  slug: string,
): Promise<{ readonly id: number; readonly sandbox: boolean } | null> {
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) => sql<{ id: number; sandbox: boolean }[]>`select id, sandbox from tenant where slug = ${slug}`,
  );
  return row ?? null;
}
