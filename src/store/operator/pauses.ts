/** Pauses deliveries and ends pauses. */

import { destinationKinds } from "../delivery/effects.ts";
import { effectName } from "./event_effects.ts";
import { type BoundedCount, countedMax, isoTime, operatorCall } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { query } from "../query.ts";

/** What a pause stops: all of a tenant's deliveries, or those to one kind of destination. */
export const pauseScopes = ["all", ...destinationKinds] as const;

export type PauseScope = typeof pauseScopes[number];

export const pauseReasonLengthMax = 200;

export interface Pause {
  /** The tenant's slug. */
  readonly tenant: string;
  readonly scope: PauseScope;
  /** ISO 8601, UTC. */
  readonly since: string;
  /** The operator's words. */
  readonly reason: string | null;
  /**
   * How many events wait because of it, among the tenant's first pending ones; `isMore` if there are further ones. All
   * pauses that are read share {@linkcode countedMax} events.
   */
  readonly waiting: BoundedCount;
}

/** Reads the pauses of a tenant or, with `null`, of all tenants, by tenant. */
export async function readPauses(pool: Pool, tenantId: number | null): Promise<Pause[]> {
  const rows = await query(
    pool,
    (sql) =>
      sql<(Omit<Pause, "waiting"> & { count: number; isMore: boolean })[]>`
      select p.tenant, coalesce(nullif(p.kind, ''), 'all') as scope, ${
        isoTime(sql, sql`p.paused_at`)
      } as since, p.reason,
        p.waiting as count, p.waiting_more as "isMore"
      from pauses(${tenantId}::int, ${countedMax}) as p`,
  );
  return rows.map(({ count, isMore, ...pause }) => ({ ...pause, waiting: { count, isMore } }));
}

/** A pause that was requested or ended. */
export interface PauseChange {
  readonly scope: PauseScope;
  /** When it began, ISO 8601, UTC; `null` if a pause that did not exist was to be ended. */
  readonly since: string | null;
  readonly reason: string | null;
  /** Whether the call found the pause as requested. */
  readonly isUnchanged: boolean;
}

/** A request to pause or resume. */
interface PauseRequest {
  /** The tenant's slug. */
  readonly tenant: string;
  readonly scopes: readonly PauseScope[];
  /** The console operator's name, `null` for ctl. */
  readonly operator: string | null;
}

/**
 * Pauses deliveries, audits it, and returns the requested pauses; none for an unknown tenant. A pause that already exists
 * only gets the new reason, unless it is `null`.
 */
export async function pauseTenant(
  pool: Pool,
  request: PauseRequest & { readonly reason: string | null },
): Promise<PauseChange[]> {
  return await change(pool, request, "pause_tenant", request.reason);
}

/** Ends pauses, audits it, makes the waiting events due, and returns the pauses that were to be ended, like {@linkcode pauseTenant}. */
export async function resumeTenant(pool: Pool, request: PauseRequest): Promise<PauseChange[]> {
  return await change(pool, request, "resume_tenant");
}

async function change(
  pool: Pool,
  { tenant, scopes, operator }: PauseRequest,
  name: "pause_tenant" | "resume_tenant",
  reason?: string | null,
): Promise<PauseChange[]> {
  return await query(pool, (sql) => {
    const kinds = scopes.map((scope) => scope === "all" ? "" : scope);
    const args = sql`${tenant}, ${kinds}::text[]${reason === undefined ? sql`` : sql`, ${reason}`}`;
    return sql<PauseChange[]>`
      select coalesce(nullif(c.kind, ''), 'all') as scope, ${
      isoTime(sql, sql`c.paused_at`)
    } as since, c.reason,
        c.is_unchanged as "isUnchanged"
      from ${operatorCall(sql, operator, name, args)} as c`;
  });
}

/** Says in words why a paused event waits. */
export const pausedText = "an operator has paused the tenant or this destination";

/** Names what a pause stops: `all deliveries of acme`, `email deliveries of acme`. */
export function pauseSubject({ tenant, scope }: Pick<Pause, "tenant" | "scope">): string {
  return `${scope === "all" ? scope : effectName(scope)} deliveries of ${tenant}`;
}

/** Returns the arguments of `ctl tenant` that end a pause: `resume acme --email`. */
export function resumeCommand({ tenant, scope }: Pick<Pause, "tenant" | "scope">): string {
  return `ctl tenant resume ${tenant}${scope === "all" ? "" : ` --${scope}`}`;
}
