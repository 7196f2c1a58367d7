/** Stores the CRMs' OAuth tokens for the actions process, and lets one process at a time renew each. */

import type { Sql } from "postgres";
import type { Pool } from "../pool.ts";
import { throwUnavailable } from "../unavailable.ts";

/** An access token, with what else the CRM's response held. */
export interface StoredToken {
  readonly accessToken: string;
  /** The other members of the response, as JSON. */
  readonly answer: string;
  /** How long the token is valid; `null` if the CRM did not say. */
  readonly validMs: number | null;
}

export type TokenClaim =
  | { readonly state: "valid"; readonly token: StoredToken }
  /** Claimed by this call; `refreshToken` is the last one that the CRM issued, if it issued any. */
  | { readonly state: "due"; readonly refreshToken: string | null }
  /** Another process renews the token. */
  | { readonly state: "busy" };

interface TokenRow {
  state: TokenClaim["state"];
  access_token: string | null;
  refresh_token: string | null;
  answer: string | null;
  valid_ms: number | null;
}

const deadlineMs = 5_000;

/** Methods throw `Unavailable` if the database is unavailable. */
export class TokenStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Reads a credential's token, or claims its renewal; `refused` is a token that the CRM no longer accepts. */
  async begin(
    credential: string,
    { refused, lease, leaseMs }: {
      readonly refused: string | null;
      readonly lease: string;
      readonly leaseMs: number;
    },
  ): Promise<TokenClaim> {
    const [row] = await this.#run((sql) =>
      sql<TokenRow[]>`
        select * from actions.begin_token(${credential}, ${refused}, ${lease}::uuid, ${leaseMs}::int)`
    );
    if (row === undefined || row.state === "busy") return { state: "busy" };
    if (row.state === "due") return { state: "due", refreshToken: row.refresh_token };
    return {
      state: "valid",
      token: { accessToken: row.access_token ?? "", answer: row.answer ?? "{}", validMs: row.valid_ms },
    };
  }

  /** Ends a renewal and stores its tokens; `null` if it failed. Resolves when they are on disk. */
  async settle(
    credential: string,
    lease: string,
    renewed: (StoredToken & { readonly refreshToken: string | null }) | null,
  ): Promise<void> {
    const { accessToken = null, refreshToken = null, answer = null, validMs = null } = renewed ?? {};
    await this.#run((sql) =>
      sql`
        select actions.settle_token(
          ${credential}, ${lease}::uuid, ${accessToken}, ${refreshToken}, ${answer}, ${validMs}
        )`
    );
  }

  #run<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T> {
    return this.#pool.run(deadlineMs, statement).catch(throwUnavailable);
  }
}
