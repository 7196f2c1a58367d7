/** Reads and changes tenants' routes for operators. */

import postgres from "postgres";
import type { Pool } from "../pool.ts";
import { query } from "../query.ts";
import { namedKinds, type RouteScope } from "./effects.ts";

/** A kind of destination, its recipients, and the events that the recipients receive, without secrets. */
export interface StoredRoute extends RouteScope {
  readonly kind: string;
  /** The recipients' addresses; more than one only for email. A CRM recipe's name. */
  readonly addresses: readonly string[];
  readonly recipe: StoredRecipe & { readonly changedAt: string } | null;
}

/** A CRM route's recipe with its settings. */
export interface StoredRecipe {
  /** The operator's own recipe, as JSON; `null` for a shipped one. */
  readonly text: string | null;
  /** The version of the shipped recipe that was set; `null` for the operator's own. */
  readonly version: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly credential: string;
}

/** A recipe to store, and when the one that it was made from was changed; `null` if there was none. */
export interface RecipeChange extends StoredRecipe {
  readonly changedFrom: string | null;
}

/** A change to one destination of a route; omitted members are unchanged. */
export interface DestinationChange {
  readonly kind: string;
  readonly addresses?: readonly string[];
  readonly clear?: true;
  /** Replaces the secret, even for the same address. */
  readonly rotate?: true;
  /** The new secret, used if the change needs one; omitted for kinds without signatures. */
  readonly secret?: string;
  /** The CRM recipe whose name is the only address. */
  readonly recipe?: RecipeChange;
}

export interface RouteChange {
  readonly scope: RouteScope;
  readonly destinations: readonly DestinationChange[];
  /** How long after a rotation the previous secret also signs. */
  readonly overlapHours: number;
}

export type RouteChanged =
  | {
    readonly kind: "changed";
    /** The kinds of destinations that got a new secret. */
    readonly renewed: readonly string[];
  }
  /** The database refuses routes for a sandbox tenant. */
  | { readonly kind: "sandbox" }
  /** The tenant would have more than {@linkcode routesMax} recipients. */
  | { readonly kind: "too_many" }
  /** The recipe is no longer the one that the change was made from. */
  | { readonly kind: "outdated" }
  | { readonly kind: "no_tenant" };

/** The maximum number of a tenant's recipients. Chosen: 200, because each event is matched against all recipients. */
export const routesMax = 200;

/** Reads a tenant's routes: first those for all events, then those for sources, then those for forms. */
export async function readRoutes(pool: Pool, tenantId: number): Promise<readonly StoredRoute[]> {
  return await query(pool, (sql) =>
    sql<StoredRoute[]>`
      select kind, source, form, array_agg(address order by id) as addresses,
        (array_agg(json_build_object(
          'text', recipe, 'version', recipe_version, 'settings', settings, 'secrets', secrets, 'credential', credential,
          'changedAt', changed_at::text
        )) filter (where settings is not null))[1] as recipe
      from actions.route where tenant_id = ${tenantId}
      group by closeness, source, form, kind
      order by closeness, source, form, kind`);
}

/** Reads the kinds of destinations that each tenant has, by the tenant's id. */
export async function listRouteKinds(pool: Pool): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await query(pool, (sql) =>
    sql<{ id: number; kinds: string[] }[]>`
      select tenant_id as id, array_agg(distinct kind order by kind) as kinds from actions.route group by tenant_id`);
  return new Map(rows.map(({ id, kinds }) => [id, kinds]));
}

/** Returns whether the scope's source and form exist; an empty one always does. */
export async function hasScope(pool: Pool, tenantId: number, { source, form }: RouteScope): Promise<boolean> {
  const [row] = await query(pool, (sql) =>
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

export async function changeRoute(pool: Pool, tenantId: number, change: RouteChange): Promise<RouteChanged> {
  const { source, form } = change.scope;
  const changed = new Set(change.destinations.map(({ kind }) => kind));
  const unchanged = namedKinds.filter((kind) => !changed.has(kind)).map((kind) => ({ kind }));
  const changes = JSON.stringify([...change.destinations, ...unchanged]);
  try {
    const [row] = await query(pool, (sql) =>
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

/** Audits a test of routes with the numbers of recipients and failures. */
export async function auditRouteTest(
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
  await query(pool, (sql) => sql`select note_audit('tenant.route_test', ${tenant}, ${detail}::text::json)`);
}

const refusals: Readonly<Record<string, "sandbox" | "too_many" | "outdated">> = {
  a_sandbox_tenant_has_no_route: "sandbox",
  routes_max: "too_many",
  recipe_unchanged: "outdated",
};
