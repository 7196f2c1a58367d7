/**
 * What the actions process reads and records: where an event goes, and which of its effects are done.
 *
 * @module
 */

import type { Sql } from "postgres";
import { describeError, type Pool, Unavailable } from "../pool.ts";

/** Something done downstream for an event, once. */
export type Effect = "crm" | "email";

/** Where an effect stands: not in the route, done before, ours to do now, or somebody else's at this moment. */
export type EffectState = "none" | "done" | "due" | "busy";

/** Where a tenant's CRM takes webhooks. */
export interface CrmRoute {
  readonly url: string;
  /** `whsec_…`; the one before too, while a rotation is under way. */
  readonly secrets: readonly string[];
}

/** What is to be done for an event. */
export type Begun =
  | { readonly kind: "unknown_tenant" }
  /** A tenant without routes by its nature: nothing is to be done. */
  | { readonly kind: "sandbox" }
  | { readonly kind: "no_route" }
  | {
    readonly kind: "begun";
    readonly states: Readonly<Record<Effect, EffectState>>;
    readonly crm: CrmRoute | null;
    readonly emailAddress: string | null;
    /** When a busy effect can be begun again at the latest, in milliseconds from now. */
    readonly busyMs: number;
  };

interface BegunRow {
  sandbox: boolean;
  has_route: boolean;
  crm: "done" | "due" | "busy" | null;
  crm_url: string | null;
  crm_secret: string | null;
  crm_secret_before: string | null;
  email: "done" | "due" | "busy" | null;
  email_address: string | null;
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
    event: { readonly eventId: string; readonly tenant: string },
    lease: { readonly id: string; readonly ms: number },
  ): Promise<Begun> {
    const [row] = await this.#run((sql) =>
      sql<BegunRow[]>`
        select * from actions.begin_effects(
          ${event.eventId}, ${event.tenant}, ${lease.id}::uuid, ${lease.ms}::int
        )`
    );
    if (row === undefined) return { kind: "unknown_tenant" };
    if (row.sandbox) return { kind: "sandbox" };
    if (!row.has_route) return { kind: "no_route" };
    const secrets = [row.crm_secret, row.crm_secret_before].filter((secret) => secret !== null);
    return {
      kind: "begun",
      states: { crm: row.crm ?? "none", email: row.email ?? "none" },
      crm: row.crm_url === null ? null : { url: row.crm_url, secrets },
      emailAddress: row.email_address,
      busyMs: row.busy_ms ?? 0,
    };
  }

  /** Records that an effect is done (`reason` is `null`), or in a word why it is not. */
  async settle(
    effect: { readonly eventId: string; readonly effect: Effect; readonly lease: string },
    reason: string | null,
  ): Promise<void> {
    await this.#run((sql) =>
      sql`
        select actions.settle_effect(${effect.eventId}, ${effect.effect}, ${effect.lease}::uuid, ${reason})`
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
