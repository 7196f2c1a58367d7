/** Reads the states of routes for operators, without addresses or secrets. */

import { type BoundedCount, countedMax, isoTime } from "./admin_pool.ts";
import type { ShownEffect } from "./event_effects.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

/** A tenant's route to one recipient. Times are ISO 8601, UTC. */
export interface RouteState {
  readonly tenant: string;
  readonly kind: string;
  /** The source or the form whose events the route receives; both are empty for all events without a closer route. */
  readonly source: string;
  readonly form: string;
  /** A webhook's host, a recipe's name or a masked email address. */
  readonly target: string;
  /** The version of the shipped CRM recipe that was set; `null` for every other route. */
  readonly recipeVersion: string | null;
  readonly changedAt: string;
  /** `null` while the route is not suspended. */
  readonly suspension: Suspension | null;
  /** The last response since the route was set; `null` if there was none among the newest events. */
  readonly last: LastResponse | null;
  /** When an event was last sent successfully, among the same events. */
  readonly doneAt: string | null;
}

/** The reasons why a CRM route is suspended. */
export const suspensionReasons = ["crm_unauthorized", "crm_suspended"] as const;

export type SuspensionReason = typeof suspensionReasons[number];

/** Why the events of a CRM route wait. */
export interface Suspension {
  readonly reason: SuspensionReason;
  readonly since: string;
  /**
   * How many events wait for the route, among the tenant's first pending ones; `isMore` if there are further ones. All
   * suspended routes that are read share {@linkcode countedMax} events.
   */
  readonly waiting: BoundedCount;
  /** The names of the recipe's secrets that are set. */
  readonly secretNames: readonly string[];
}

/** A recipient's response to an event. */
export interface LastResponse extends Pick<ShownEffect, "state" | "status" | "answer" | "reason"> {
  readonly eventId: string;
  readonly settledAt: string;
}

export type SuspendedRoute = RouteState & { readonly suspension: Suspension };

interface Row extends Omit<RouteState, "suspension" | "last">, Omit<LastResponse, "eventId" | "reason"> {
  reason: SuspensionReason | null;
  since: string;
  waiting: number;
  isMore: boolean;
  secretNames: string[];
  /** `null` without a response. */
  eventId: string | null;
  effectReason: string | null;
}

/**
 * Reads a tenant's routes with their last responses; with `null`, all tenants' CRM recipes, with the last responses of those
 * that are suspended.
 */
export async function readRouteStates(pool: Pool, tenantId: number | null): Promise<RouteState[]> {
  const rows = await query(pool, (sql) =>
    sql<Row[]>`
      select r.tenant, r.kind, r.source, r.form, r.target, r.recipe_version as "recipeVersion", r.reason, r.waiting,
        r.waiting_more as "isMore", r.secret_names as "secretNames", r.event_id as "eventId", r.state, r.status, r.answer,
        r.effect_reason as "effectReason", ${isoTime(sql, sql`r.changed_at`)} as "changedAt",
        ${isoTime(sql, sql`r.since`)} as since, ${isoTime(sql, sql`r.settled_at`)} as "settledAt",
        ${isoTime(sql, sql`r.done_at`)} as "doneAt"
      from route_states(${tenantId}::int, ${countedMax}) as r`);
  return rows.map(({ reason, since, waiting, isMore, secretNames, eventId, ...row }) => {
    const { state, status, answer, effectReason, settledAt, ...route } = row;
    return {
      ...route,
      suspension: reason === null
        ? null
        : { reason, since, secretNames, waiting: { count: waiting, isMore } },
      last: eventId === null ? null : { eventId, state, status, answer, reason: effectReason, settledAt },
    };
  });
}

/** Reads the suspended CRM routes of all tenants. */
export async function readSuspendedRoutes(pool: Pool): Promise<SuspendedRoute[]> {
  return (await readRouteStates(pool, null)).filter((route): route is SuspendedRoute =>
    route.suspension !== null
  );
}

/** What the CRM of a suspended route does, in words. */
export const suspensionTexts: Readonly<Record<SuspensionReason, string>> = {
  crm_unauthorized: "refuses the credentials",
  crm_suspended: "refused five different leads in a row",
};

/** Says in words why an event waits for its CRM, by the event's reason. */
export const crmWaitTexts: Readonly<Record<string, string>> = {
  crm_unauthorized: `the CRM ${suspensionTexts.crm_unauthorized}`,
  crm_suspended: `the CRM ${suspensionTexts.crm_suspended}`,
  crm_rate: "the CRM's rate limit is reached",
  crm_unfinished: "the CRM was too slow for one attempt; the next one continues",
  recipe_unusable: "this release cannot use the CRM's recipe; set the route again",
};

/** Returns the start of the `ctl` command that changes or tests a route: `ctl tenant route acme --source web`. */
export function routeCommand(
  { tenant, source, form }: Pick<RouteState, "tenant" | "source" | "form">,
): string {
  const scope = source !== "" ? ` --source ${quoted(source)}` : form !== "" ? ` --form ${form}` : "";
  return `ctl tenant route ${tenant}${scope}`;
}

/** Returns the `ctl` command that replaces the secrets of a suspended route. */
export function secretsCommand(route: SuspendedRoute): string {
  const { secretNames } = route.suspension;
  // Only one secret can be read from standard input.
  const value = secretNames.length === 1 ? "-" : "FILE";
  return [routeCommand(route), ...secretNames.map((name) => `--secret ${name}=${value}`)].join(" ");
}

/** Quotes a word for a POSIX shell, if necessary. */
function quoted(word: string): string {
  return /^[\w.,:@/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Finds the newest event of a tenant that has content and is not held, among the newest 20 of each key. */
export async function findLastEvent(pool: Pool, tenantId: number): Promise<string | null> {
  const row = await queryOne(pool, (sql) =>
    sql<{ eventId: string }[]>`
      select n.event_id as "eventId"
      from api_key as k
      cross join lateral (
        select e.event_id, e.removed_at from event as e
        -- As in route_states.
        where (e.key_id, e.event_id) >= (k.id, '') and (e.key_id, e.event_id) < (k.id + 1, '')
        order by e.key_id desc, e.event_id desc limit 20
      ) as n
      where k.tenant_id = ${tenantId} and n.removed_at is null and not exists (
        select from submission as s where s.event_id = n.event_id and s.verdict <> 'clean' and s.released_at is null
      )
      order by n.event_id desc limit 1`);
  return row?.eventId ?? null;
}
