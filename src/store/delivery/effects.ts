/** Finds routes, claims the effects of events, and records their outcomes, for the actions process. */

import type { Sql } from "postgres";
import type { Pool } from "../pool.ts";
import { throwUnavailable } from "../unavailable.ts";

/** The kinds of destinations that are listed even if a tenant has no such route. Source: SPEC, What the service does. */
export const namedKinds = ["crm", "email"] as const;

/** A route to one recipient. */
export interface Route {
  readonly id: number;
  readonly kind: string;
  readonly address: string;
  /** The signing secrets, `whsec_…`: the current one and, during a rotation, the previous one. */
  readonly secrets: readonly string[];
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
    /** Claimed by this call. */
    | { readonly state: "due"; readonly route: Route }
    /** Claimed by another delivery, for at most `busyMs`. */
    | { readonly state: "busy"; readonly busyMs: number }
  );

export interface Claim {
  readonly eventId: string;
  readonly routeId: number;
  readonly round: number;
  readonly lease: string;
}

/** The outcome of an effect (`reason` is `null` on success) and the recipient's response. */
export interface EffectRecord {
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
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
}

interface ClaimedRow extends TenantRow {
  /** If no route receives the event, there is one row, in which this and the following members are `null`. */
  effect: string | null;
  route_id: number;
  round: number;
  state: ClaimedEffect["state"];
  busy_ms: number | null;
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

  /** Finds the tenant's routes and claims the event's pending effects under a lease. */
  async claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number },
  ): Promise<EffectClaims> {
    const rows = await this.#run((sql) =>
      sql<ClaimedRow[]>`
        select * from actions.begin_effects(
          ${event.eventId}, ${event.tenant}, ${event.source}, ${event.form}, ${lease.id}::uuid, ${lease.ms}::int
        )`
    );
    const [first] = rows;
    if (first === undefined) return { kind: "unknown_tenant" };
    if (first.sandbox) return { kind: "sandbox" };
    if (first.effect === null) return { kind: "no_route" };
    return { kind: "claimed", tenant: tenantNames(event.tenant, first), effects: rows.map(claimedEffect) };
  }

  async settle(claim: Claim, { reason, status, answer }: EffectRecord): Promise<void> {
    await this.#run((sql) =>
      sql`
        select actions.settle_effect(
          ${claim.eventId}, ${claim.routeId}, ${claim.round}, ${claim.lease}::uuid, ${reason}, ${status}, ${answer}
        )`
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
  if (state === "done") return { ...effect, state };
  if (state === "busy") return { ...effect, state, busyMs: row.busy_ms ?? 0 };
  return { ...effect, state, route: routeOf(kind, row) };
}

function routeOf(kind: string, row: TenantRow & { readonly route_id: number }): Route {
  const secrets = [row.secret, row.secret_before].filter((each) => each !== null);
  return { id: row.route_id, kind, address: row.address as string, secrets };
}

function tenantNames(slug: string, row: TenantRow): TenantNames {
  return { slug, name: row.name, timeZone: row.time_zone };
}
