/**
 * Where a tenant's leads go, as the operator sees and changes it.
 *
 * @module
 */

import postgres from "postgres";
import { adminDeadlineMs } from "../operator/pool.ts";
import type { Pool } from "../pool.ts";

/** A tenant's route; both parts are `null` when it has none. The secret is never read back. */
export interface Route {
  readonly crmUrl: string | null;
  readonly email: string | null;
}

/** What to change; what is left out stays. */
export interface RouteChange {
  readonly crmUrl?: string;
  readonly email?: string;
  readonly clear?: "crm" | "email";
  readonly rotateSecret?: boolean;
  /** Becomes the secret if the change needs a new one. */
  readonly secret: string;
  /** How long a rotated secret goes on signing beside the new one. */
  readonly overlapHours: number;
}

/** What became of a change. */
export type RouteChanged =
  | { readonly kind: "changed"; readonly route: Route; readonly hasNewSecret: boolean }
  /** A sandbox tenant; the database refuses it. */
  | { readonly kind: "sandbox" }
  /** The tenant is gone. */
  | { readonly kind: "no_tenant" };

/** The tenant's route as it is. */
export async function readRoute(pool: Pool, tenantId: number): Promise<Route> {
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ crm_url: string | null; email: string | null }[]>`
      select crm_url, email from actions.route where tenant_id = ${tenantId}`,
  );
  return { crmUrl: row?.crm_url ?? null, email: row?.email ?? null };
}

/** Changes the tenant's route. */
export async function changeRoute(pool: Pool, tenantId: number, change: RouteChange): Promise<RouteChanged> {
  const { crmUrl = null, email = null, clear, rotateSecret = false, secret, overlapHours } = change;
  try {
    const [row] = await pool.run(
      adminDeadlineMs,
      (sql) =>
        sql<{ crm_url: string | null; email: string | null; has_new_secret: boolean }[]>`
        select * from actions.set_route(
          ${tenantId}, ${crmUrl}, ${email}, ${clear === "crm"}, ${clear === "email"}, ${rotateSecret},
          ${secret}, make_interval(hours => ${overlapHours}::int)
        )`,
    );
    if (row === undefined) return { kind: "no_tenant" };
    return {
      kind: "changed",
      route: { crmUrl: row.crm_url, email: row.email },
      hasNewSecret: row.has_new_secret,
    };
  } catch (error) {
    const isSandbox = error instanceof postgres.PostgresError &&
      error.constraint_name === "a_sandbox_tenant_has_no_route";
    if (isSandbox) return { kind: "sandbox" };
    throw error;
  }
}
