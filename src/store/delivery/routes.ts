/** The routes of a tenant, as operators see and change them. */

import postgres from "postgres";
import { ask } from "../operator/admin_pool.ts";
import type { Pool } from "../pool.ts";
import { namedKinds, type RouteScope } from "./effects.ts";

/** A destination, and the events that it takes. Secrets are never read back. */
export interface StoredRoute extends RouteScope {
  readonly kind: string;
  /** More than one only for mail. */
  readonly addresses: readonly string[];
}

/** A change to one destination of a route; omitted fields stay. */
export interface DestinationChange {
  readonly kind: string;
  readonly addresses?: readonly string[];
  readonly clear?: true;
  /** Replace the secret, even for the same address. */
  readonly rotate?: true;
  /** The new secret, if the change needs one; omitted where nothing is signed. */
  readonly secret?: string;
}

export interface RouteChange {
  readonly scope: RouteScope;
  readonly destinations: readonly DestinationChange[];
  /** How long a rotated secret keeps signing beside the new one. */
  readonly overlapHours: number;
}

export type RouteChanged =
  | {
    readonly kind: "changed";
    /** The kinds that have a new secret. */
    readonly renewed: readonly string[];
  }
  /** The database refuses routes for a sandbox tenant. */
  | { readonly kind: "sandbox" }
  /** More than {@linkcode routesMax}. */
  | { readonly kind: "too_many" }
  | { readonly kind: "no_tenant" };

/** Recipients of a tenant, all routes together. Chosen: each of its events is matched against them. */
export const routesMax = 200;

/** A tenant's routes: first those for all its events, then by source and by form. */
export async function readRoutes(pool: Pool, tenantId: number): Promise<readonly StoredRoute[]> {
  return await ask(pool, (sql) =>
    sql<StoredRoute[]>`
      select kind, source, form, array_agg(address order by id) as addresses
      from actions.route where tenant_id = ${tenantId}
      group by closeness, source, form, kind
      order by closeness, source, form, kind`);
}

/** The kinds of destinations of each tenant, by the tenant's id. */
export async function listRouteKinds(pool: Pool): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await ask(pool, (sql) =>
    sql<{ id: number; kinds: string[] }[]>`
      select tenant_id as id, array_agg(distinct kind order by kind) as kinds from actions.route group by tenant_id`);
  return new Map(rows.map(({ id, kinds }) => [id, kinds]));
}

/** Whether such a key label or form exists, to catch misspellings. */
export async function hasScope(pool: Pool, tenantId: number, { source, form }: RouteScope): Promise<boolean> {
  const [row] = await ask(pool, (sql) =>
    sql<{ found: boolean }[]>`
      select (
        ${source} = '' or exists (select from api_key where tenant_id = ${tenantId} and label = ${source})
      ) and (
        ${form} = '' or exists (
          select from form where tenant_id = ${tenantId} and form_key = ${form} and removed_at is null
        )
      ) as found`);
  return row?.found === true;
}

/** Changes the tenant's route. */
export async function changeRoute(pool: Pool, tenantId: number, change: RouteChange): Promise<RouteChanged> {
  const { source, form } = change.scope;
  const changed = new Set(change.destinations.map(({ kind }) => kind));
  const unchanged = namedKinds.filter((kind) => !changed.has(kind)).map((kind) => ({ kind }));
  const changes = JSON.stringify([...change.destinations, ...unchanged]);
  try {
    const [row] = await ask(pool, (sql) =>
      sql<{ renewed: string[] | null }[]>`
        select actions.set_route(
          ${tenantId}, ${source}, ${form}, ${changes}::text::json,
          make_interval(hours => ${change.overlapHours}::int), ${routesMax}
        ) as renewed`);
    return row?.renewed == null ? { kind: "no_tenant" } : { kind: "changed", renewed: row.renewed };
  } catch (error) {
    const kind = error instanceof postgres.PostgresError ? refusals[error.constraint_name ?? ""] : undefined;
    if (kind !== undefined) return { kind };
    throw error;
  }
}

/** Audits a test of a route: how many recipients were sent a test, and how many failed. */
export async function noteRouteTest(
  pool: Pool,
  tenant: string,
  { scope, sent, failed }: { readonly scope: RouteScope; readonly sent: number; readonly failed: number },
): Promise<void> {
  const { source, form } = scope;
  const detail = JSON.stringify({
    sent,
    failed,
    ...(source === "" ? {} : { source }),
    ...(form === "" ? {} : { form }),
  });
  await ask(pool, (sql) => sql`select note_audit('tenant.route_test', ${tenant}, ${detail}::text::json)`);
}

const refusals: Readonly<Record<string, "sandbox" | "too_many">> = {
  a_sandbox_tenant_has_no_route: "sandbox",
  a_tenant_has_so_many_routes: "too_many",
};
