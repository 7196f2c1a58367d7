/**
 * What the actions process reads and records: where an event goes, and which of its effects are done.
 *
 * @module
 */

import type { Sql } from "postgres";
import { describeError, type Pool, Unavailable } from "../pool.ts";

/** The two that the specification names: named in every answer and note, also where a tenant's route lacks them. */
export const namedKinds = ["crm", "email"] as const;

/** Where an effect goes. */
export interface Route {
  readonly address: string;
  /** `whsec_…`, for what signs; the one before too, while a rotation is under way. */
  readonly secrets: readonly string[];
}

/** Something done downstream for an event, once; `kind` is that of its destination. */
export type BegunEffect =
  | { readonly kind: string; readonly state: "done" }
  /** Ours to do now. */
  | { readonly kind: string; readonly state: "due"; readonly route: Route }
  /** Somebody else's at this moment; `busyMs` from now it can be begun again at the latest. */
  | { readonly kind: string; readonly state: "busy"; readonly busyMs: number };

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

interface BegunRow {
  sandbox: boolean;
  name: string;
  time_zone: string;
  /** `null` in the one row of a tenant for which nothing is to be told, as are the others. */
  effect: string | null;
  state: BegunEffect["state"];
  busy_ms: number | null;
  address: string | null;
  secret: string | null;
  secret_before: string | null;
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
    event: { readonly eventId: string; readonly tenant: string },
    lease: { readonly id: string; readonly ms: number },
  ): Promise<Begun> {
    const rows = await this.#run((sql) =>
      sql<BegunRow[]>`
        select * from actions.begin_effects(
          ${event.eventId}, ${event.tenant}, ${lease.id}::uuid, ${lease.ms}::int
        )`
    );
    const [first] = rows;
    if (first === undefined) return { kind: "unknown_tenant" };
    if (first.sandbox) return { kind: "sandbox" };
    if (rows.every(({ address }) => address === null)) return { kind: "no_route" };
    const tenant = { slug: event.tenant, name: first.name, timeZone: first.time_zone };
    return { kind: "begun", tenant, effects: rows.map(begunEffect) };
  }

  /** Records that an effect is done (`reason` is `null`), or in a word why it is not. */
  async settle(
    effect: { readonly eventId: string; readonly kind: string; readonly lease: string },
    reason: string | null,
  ): Promise<void> {
    await this.#run((sql) =>
      sql`
        select actions.settle_effect(${effect.eventId}, ${effect.kind}, ${effect.lease}::uuid, ${reason})`
    );
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
  const { state, address, secret, secret_before } = row;
  const kind = row.effect as string;
  if (state === "done") return { kind, state };
  if (state === "busy") return { kind, state, busyMs: row.busy_ms ?? 0 };
  const secrets = [secret, secret_before].filter((each) => each !== null);
  return { kind, state, route: { address: address as string, secrets } };
}
