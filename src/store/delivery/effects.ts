/**
 * What the actions process reads and records: where an event goes, and which of its effects are done.
 *
 * @module
 */

import type { Sql } from "postgres";
import { describeError, type Pool, Unavailable } from "../pool.ts";

/** The two that the specification names: named in every answer and note, also where a tenant's route lacks them. */
export const namedKinds = ["crm", "email"] as const;

/** One recipient of a tenant's. */
export interface Route {
  readonly id: number;
  /** That of its destination. */
  readonly kind: string;
  readonly address: string;
  /** `whsec_…`, for what signs; the one before too, while a rotation is under way. */
  readonly secrets: readonly string[];
}

/** Something done downstream for an event, once for each recipient. */
export type BegunEffect =
  & {
    /** That of its destination. */
    readonly kind: string;
    readonly routeId: number;
    /** How often an operator has had it done again. */
    readonly round: number;
  }
  & (
    | { readonly state: "done" }
    /** Ours to do now. */
    | { readonly state: "due"; readonly route: Route }
    /** Somebody else's at this moment; `busyMs` from now it can be begun again at the latest. */
    | { readonly state: "busy"; readonly busyMs: number }
  );

/** An effect that was begun, and the lease under which it is ours. */
export interface Claim {
  readonly eventId: string;
  readonly routeId: number;
  readonly round: number;
  readonly lease: string;
}

/** What became of an effect: done with `reason` `null`, or in a word why not; and what the other side said. */
export interface EffectRecord {
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
}

/** Whose events a route takes: those of a form, those of a source; with both empty all that no closer one takes. */
export interface RouteScope {
  /** The label of a key. */
  readonly source: string;
  readonly form: string;
}

/** Where a tenant's events go. */
export type TenantRoutes =
  | { readonly kind: "unknown_tenant" | "sandbox" | "no_route" }
  | { readonly kind: "routes"; readonly tenant: TenantNames; readonly routes: readonly Route[] };

/** What is to be done for an event. */
export type Begun =
  | { readonly kind: "unknown_tenant" }
  /** A tenant without routes by its nature: nothing is to be done. */
  | { readonly kind: "sandbox" }
  | { readonly kind: "no_route" }
  | { readonly kind: "begun"; readonly tenant: TenantNames; readonly effects: readonly BegunEffect[] };

/** What its people call a tenant, and whose clock they read. */
export interface TenantNames {
  readonly slug: string;
  readonly name: string;
  /** IANA's name, such as `America/Los_Angeles`. */
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

interface BegunRow extends TenantRow {
  /** `null` in the one row of a tenant for which nothing is to be told, as are the others. */
  effect: string | null;
  route_id: number;
  round: number;
  state: BegunEffect["state"];
  busy_ms: number | null;
}

// A look-up by key and a write of two rows; what takes longer is a database in trouble.
const deadlineMs = 5_000;

/**
 * Routes and effects. All its methods throw {@linkcode Unavailable}, also when the database refuses a statement:
 * what comes in has been checked, so it is the tier that cannot work and not the event that is wrong.
 */
export class EffectStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Looks up the tenant's route and claims what is left to do for the event. The lease's id goes with it to
   * {@linkcode EffectStore.settle}.
   */
  async claim(
    event: { readonly eventId: string; readonly tenant: string } & RouteScope,
    lease: { readonly id: string; readonly ms: number },
  ): Promise<Begun> {
    const rows = await this.#run((sql) =>
      sql<BegunRow[]>`
        select * from actions.begin_effects(
          ${event.eventId}, ${event.tenant}, ${event.source}, ${event.form}, ${lease.id}::uuid, ${lease.ms}::int
        )`
    );
    const [first] = rows;
    if (first === undefined) return { kind: "unknown_tenant" };
    if (first.sandbox) return { kind: "sandbox" };
    if (first.effect === null) return { kind: "no_route" };
    return { kind: "begun", tenant: tenantNames(event.tenant, first), effects: rows.map(begunEffect) };
  }

  /** Records what became of an effect. */
  async settle(claim: Claim, { reason, status, answer }: EffectRecord): Promise<void> {
    await this.#run((sql) =>
      sql`
        select actions.settle_effect(
          ${claim.eventId}, ${claim.routeId}, ${claim.round}, ${claim.lease}::uuid, ${reason}, ${status}, ${answer}
        )`
    );
  }

  /** Where a tenant's events go, those of a source or a form or, with both empty, those that no closer route takes. */
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

  /** Returns when the database has answered. */
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

function begunEffect(row: BegunRow): BegunEffect {
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
