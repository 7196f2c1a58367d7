/** Effects of events, as the actions process claims and records them: where an event goes, and what is done. */

import type { Sql } from "postgres";
import { describeError, type Pool, Unavailable } from "../pool.ts";

/** The two kinds that the specification names: named in every response, even if the tenant's route lacks them. */
export const namedKinds = ["crm", "email"] as const;

/** One recipient. */
export interface Route {
  readonly id: number;
  readonly kind: string;
  readonly address: string;
  /** `whsec_…`; during a rotation the previous secret too. */
  readonly secrets: readonly string[];
}

/** An effect of an event for one recipient. */
export type ClaimedEffect =
  & {
    readonly kind: string;
    readonly routeId: number;
    /** How often an operator has had it repeated. */
    readonly round: number;
  }
  & (
    | { readonly state: "done" }
    /** Claimed by this call. */
    | { readonly state: "due"; readonly route: Route }
    /** Claimed by another; claimable again in `busyMs` at the latest. */
    | { readonly state: "busy"; readonly busyMs: number }
  );

/** A claimed effect, and its lease. */
export interface Claim {
  readonly eventId: string;
  readonly routeId: number;
  readonly round: number;
  readonly lease: string;
}

/** The outcome of an effect: done if `reason` is `null`; and the recipient's response. */
export interface EffectRecord {
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
}

/** The events that a route takes: a form's, a source's, or with both empty all that no closer route takes. */
export interface RouteScope {
  /** The label of a key. */
  readonly source: string;
  readonly form: string;
}

export type TenantRoutes =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  | { readonly kind: "routes"; readonly tenant: TenantNames; readonly routes: readonly Route[] };

export type EffectClaims =
  | { readonly kind: "unknown_tenant" }
  /** A tenant that can have no routes. */
  | { readonly kind: "sandbox" }
  | { readonly kind: "no_route" }
  | { readonly kind: "begun"; readonly tenant: TenantNames; readonly effects: readonly ClaimedEffect[] };

/** How people call a tenant, and their time zone. */
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
  /** `null`, with the fields below, in the only row of a tenant without a route. */
  effect: string | null;
  route_id: number;
  round: number;
  state: ClaimedEffect["state"];
  busy_ms: number | null;
}

// A lookup and a write of two rows take far less on a healthy database.
const deadlineMs = 5_000;

/**
 * Routes and effects. Methods throw {@linkcode Unavailable} even when the database refuses a statement: the input was
 * checked, so the actions service is at fault and not the event.
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
    return { kind: "begun", tenant: tenantNames(event.tenant, first), effects: rows.map(claimedEffect) };
  }

  /** Records the outcome of an effect. */
  async settle(claim: Claim, { reason, status, answer }: EffectRecord): Promise<void> {
    await this.#run((sql) =>
      sql`
        select actions.settle_effect(
          ${claim.eventId}, ${claim.routeId}, ${claim.round}, ${claim.lease}::uuid, ${reason}, ${status}, ${answer}
        )`
    );
  }

  /** The routes of a source or a form or, with both empty, those of all other events. */
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

  /** Resolves when the database has answered. */
  async ping(): Promise<void> {
    await this.#run((sql) => sql`select`);
  }

  async #run<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T> {
    try {
      return await this.#pool.run(deadlineMs, statement);
    } catch (error) {
      throw error instanceof Unavailable ? error : new Unavailable(describeError(error), { cause: error });
    }
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
