/**
 * Where a tenant's leads go, as the operator sees and changes it.
 *
 * @module
 */

import postgres from "postgres";
import { adminDeadlineMs } from "../operator/admin_pool.ts";
import type { Pool } from "../pool.ts";
import { namedKinds } from "./effects.ts";

/** A tenant's route: the addresses of its destinations by their kind. Secrets are never read back. */
export type RouteAddresses = ReadonlyMap<string, string>;

/** What to change at one destination of a route; what is left out stays. */
export interface DestinationChange {
  readonly kind: string;
  readonly address?: string;
  /** Send nothing there any more. */
  readonly clear?: true;
  /** Another secret, also for the same address. */
  readonly rotate?: true;
  /** Becomes the secret if the change needs a new one; left out where nothing is signed. */
  readonly secret?: string;
}

/** What to change. */
export interface RouteChange {
  readonly destinations: readonly DestinationChange[];
  /** How long a rotated secret goes on signing beside the new one. */
  readonly overlapHours: number;
}

/** What became of a change. */
export type RouteChanged =
  | {
    readonly kind: "changed";
    /** The kinds that have a new secret. */
    readonly renewed: readonly string[];
  }
  /** A sandbox tenant; the database refuses it. */
  | { readonly kind: "sandbox" }
  /** The tenant is gone. */
  | { readonly kind: "no_tenant" };

/** The tenant's route as it is. */
export async function readRoute(pool: Pool, tenantId: number): Promise<RouteAddresses> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ kind: string; address: string }[]>`
      select kind, address from actions.route where tenant_id = ${tenantId} order by kind`,
  );
  return new Map(rows.map(({ kind, address }) => [kind, address]));
}

/** The kinds of destinations that each tenant has, by the tenant's id; never an address. */
export async function listRouteKinds(pool: Pool): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ id: number; kinds: string[] }[]>`
      select tenant_id as id, array_agg(distinct kind order by kind) as kinds from actions.route group by tenant_id`,
  );
  return new Map(rows.map(({ id, kinds }) => [id, kinds]));
}

/** Changes the tenant's route. */
export async function changeRoute(pool: Pool, tenantId: number, change: RouteChange): Promise<RouteChanged> {
  const changed = new Set(change.destinations.map(({ kind }) => kind));
  const unchanged = namedKinds.filter((kind) => !changed.has(kind)).map((kind) => ({ kind }));
  const changes = JSON.stringify([...change.destinations, ...unchanged]);
  try {
    const [row] = await pool.run(
      adminDeadlineMs,
      (sql) =>
        sql<{ renewed: string[] | null }[]>`
        select actions.set_route(
          ${tenantId}, ${changes}::text::json, make_interval(hours => ${change.overlapHours}::int)
        ) as renewed`,
    );
    return row?.renewed == null ? { kind: "no_tenant" } : { kind: "changed", renewed: row.renewed };
  } catch (error) {
    const isSandbox = error instanceof postgres.PostgresError &&
      error.constraint_name === "a_sandbox_tenant_has_no_route";
    if (isSandbox) return { kind: "sandbox" };
    throw error;
  }
}
