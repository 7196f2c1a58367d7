/** Finds routes, claims the effects of events, and records their outcomes, for the actions process. */

import type { Sql } from "postgres";
import type { Pool } from "../pool.ts";
import { throwUnavailable } from "../unavailable.ts";

/** The kinds of destinations that are listed even if a tenant has no such route. Source: SPEC, What the service does. */
export const namedKinds = ["crm", "email"] as const;

/** All kinds of destinations, in display order. */
export const destinationKinds = [...namedKinds, "slack"] as const;

export type DestinationKind = typeof destinationKinds[number];

/** The reason why an effect or an event waits for the end of a pause. */
export const pausedReason = "paused";

/** A route to one recipient. */
export interface Route {
  readonly id: number;
  readonly kind: string;
  readonly address: string;
  /** The signing secrets, `whsec_…`: the current one and, during a rotation, the previous one. */
  readonly secrets: readonly string[];
  /** The CRM recipe, whose name is the address; `null` for all other routes. */
  readonly recipe: RouteRecipe | null;
}

/** A route's CRM recipe with its settings. */
export interface RouteRecipe {
  readonly name: string;
  /** The operator's own recipe, as JSON; `null` for a shipped one. */
  readonly text: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Identifies the account at the CRM. */
  readonly credential: string;
  /** Identifies the version of the route. */
  readonly changedAt: string;
}

/** An event's effect for one recipient. */
export type ClaimedEffect =
  & {
    readonly kind: string;
    readonly routeId: number;
    /** The number of times that an operator has sent the event again. */
    readonly round: number;
  }
  & (
    | { readonly state: "done" }
    /** Refused for good by an earlier delivery. */
    | { readonly state: "refused"; readonly reason: string }
    /** Claimed by this call; `progress` is what {@linkcode EffectStore.saveProgress} has stored. */
    | { readonly state: "due"; readonly route: Route; readonly progress: string | null }
    /** Claimed by another delivery, for at most `waitMs`. */
    | { readonly state: "busy"; readonly waitMs: number }
    /** The destination is paused, or the CRM route is suspended; the event should be sent again after `waitMs`. */
    | { readonly state: "waiting"; readonly reason: string; readonly waitMs: number }
  );

export interface Claim {
  readonly eventId: string;
  readonly routeId: number;
  readonly round: number;
  readonly lease: string;
}

/**
 * What became of an effect: `refused` for good, or `waiting`, which is not the event's fault; `failed` will be repeated.
 */
export type EffectOutcome = "done" | "failed" | "refused" | "waiting";

/** The outcome of an effect (`reason` is `null` on success) and the recipient's response. */
export interface EffectRecord {
  readonly outcome: EffectOutcome;
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  /** For a CRM recipe that sent something; the route may then be suspended. */
  readonly recipe: RecipeRoute | null;
}

/** A CRM route with a recipe. */
export interface RecipeRoute {
  /** The tenant's slug. */
  readonly tenant: string;
  /** See {@linkcode RouteRecipe.changedAt}. */
  readonly changedAt: string;
}

/** The outcome that was recorded; a refused event waits if its route is suspended. */
export interface RecordedEffect {
  readonly outcome: EffectOutcome;
  readonly reason: string | null;
  /** For a waiting event, when it should be sent again; `null` if the caller decides. */
  readonly waitMs: number | null;
}

/** Selects a route's events: a form's, a source's or, if both are empty, all events without a more specific route. */
export interface RouteScope {
  /** A key's label. */
  readonly source: string;
  readonly form: string;
}

export type TenantRoutes =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  | { readonly kind: "routes"; readonly tenant: TenantNames; readonly routes: readonly Route[] };

export type EffectClaims =
  | { readonly kind: "unknown_tenant" }
  | { readonly kind: "sandbox" }
  | { readonly kind: "no_route" }
  | { readonly kind: "claimed"; readonly tenant: TenantNames; readonly effects: readonly ClaimedEffect[] };

export interface TenantNames {
  readonly slug: string;
  readonly name: string;
  /** An IANA name, such as `America/Los_Angeles`. */
  readonly timeZone: string;
}

interface TenantRow {
  sandbox: boolean;
  name: string;
  time_zone: string;
  address: string | null;
  secret: string | null;
  secret_before: string | null;
  recipe: RouteRecipe | null;
}

interface ClaimedRow extends TenantRow {
  /** If no route receives the event, there is one row, in which this and the following members are `null`. */
  effect: string | null;
  route_id: number;
  round: number;
  state: ClaimedEffect["state"];
  wait_ms: number | null;
  reason: string | null;
  progress: string | null;
}

// On a healthy database, a lookup and a write of two rows take far less time.
const deadlineMs = 5_000;

/**
 * Methods throw `Unavailable` even when the database refuses a statement, because the input was validated and so is not
 * the cause.
 */
export class EffectStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Finds the tenant's routes and claims the event's pending effects under a lease, which `recipeMs` extends for a CRM recipe. */
  async claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number; readonly recipeMs: number },
  ): Promise<EffectClaims> {
    const rows = await this.#run((sql) =>
      sql<ClaimedRow[]>`
        select * from actions.begin_effects(
          ${event.eventId}, ${event.tenant}, ${event.source}, ${event.form}, ${lease.id}::uuid, ${lease.ms}::int,
          ${lease.recipeMs}::int
        )`
    );
    const [first] = rows;
    if (first === undefined) return { kind: "unknown_tenant" };
    if (first.sandbox) return { kind: "sandbox" };
    if (first.effect === null) return { kind: "no_route" };
    return { kind: "claimed", tenant: tenantNames(event.tenant, first), effects: rows.map(claimedEffect) };
  }

  async settle(claim: Claim, record: EffectRecord): Promise<RecordedEffect> {
    const { eventId, routeId, round, lease } = claim;
    const { outcome, reason, status, answer, headers, recipe } = record;
    const [row] = await this.#run((sql) =>
      sql<{ outcome: EffectOutcome; reason: string | null; wait_ms: number | null }[]>`
        select * from actions.settle_effect(
          ${eventId}, ${routeId}, ${round}, ${lease}::uuid, ${reason}, ${status}, ${answer}, ${outcome},
          ${recipe?.tenant ?? null}, ${recipe?.changedAt ?? null},
          ${headers === null ? null : JSON.stringify(headers)}::text::json
        )`
    );
    return row === undefined
      ? { outcome, reason, waitMs: null }
      : { outcome: row.outcome, reason: row.reason, waitMs: row.wait_ms };
  }

  /** Stores what a CRM recipe has finished for an event, at most 64 KiB. */
  async saveProgress(claim: Claim, progress: string): Promise<void> {
    const { eventId, routeId, round, lease } = claim;
    await this.#run((sql) =>
      sql`select actions.save_progress(${eventId}, ${routeId}, ${round}, ${lease}::uuid, ${progress})`
    );
  }

  /** Returns the routes that apply to a source or form: for each kind of destination, only the most specific ones. */
  async routesOf(slug: string, { source, form }: RouteScope): Promise<TenantRoutes> {
    const rows = await this.#run((sql) =>
      sql<(TenantRow & { route_id: number; kind: string | null })[]>`
        select * from actions.routes_of(${slug}, ${source}, ${form})`
    );
    const [first] = rows;
    if (first === undefined) return { kind: "unknown_tenant" };
    if (first.sandbox) return { kind: "sandbox" };
    const routes = rows.flatMap((row) => row.kind === null ? [] : [routeOf(row.kind, row)]);
    return routes.length === 0
      ? { kind: "no_route" }
      : { kind: "routes", tenant: tenantNames(slug, first), routes };
  }

  /** Resolves when the database has responded. */
  async ping(): Promise<void> {
    await this.#run((sql) => sql`select`);
  }

  #run<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T> {
    return this.#pool.run(deadlineMs, statement).catch(throwUnavailable);
  }
}

function claimedEffect(row: ClaimedRow): ClaimedEffect {
  const { state, round, route_id: routeId } = row;
  const kind = row.effect as string;
  const effect = { kind, routeId, round };
  const { progress, reason, wait_ms: waitMs } = row;
  switch (state) {
    case "done":
      return { ...effect, state };
    case "refused":
      return { ...effect, state, reason: reason ?? "refused" };
    case "busy":
      return { ...effect, state, waitMs: waitMs ?? 0 };
    case "waiting":
      return { ...effect, state, reason: reason ?? "waiting", waitMs: waitMs ?? 0 };
    case "due":
      return { ...effect, state, route: routeOf(kind, row), progress };
  }
}

function routeOf(kind: string, row: TenantRow & { readonly route_id: number }): Route {
  const secrets = [row.secret, row.secret_before].filter((each) => each !== null);
  return { id: row.route_id, kind, address: row.address as string, secrets, recipe: row.recipe };
}

function tenantNames(slug: string, row: TenantRow): TenantNames {
  return { slug, name: row.name, timeZone: row.time_zone };
}
