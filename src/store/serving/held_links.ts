/** Signs and resolves the links in digests that let customers release held submissions. */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Pool } from "../pool.ts";

export interface HeldLink {
  readonly submissionId: string;
  readonly routeId: number;
  /** Seconds since 1970. */
  readonly expiresAtSeconds: number;
}

/** The path of the links on the forms host. The token is appended. */
export const heldLinkPath = "/held/";

const sign = (text: string, secret: string) =>
  `${text}.${createHmac("sha256", secret).update(heldLinkPath + text).digest("base64url")}`;

/** Returns a link's token: its fields in plain text, and an HMAC over the path and the fields. */
export function heldLinkToken({ submissionId, routeId, expiresAtSeconds }: HeldLink, secret: string): string {
  return sign(`${submissionId}.${routeId}.${expiresAtSeconds}`, secret);
}

/** Returns the link if the token is signed with one of the secrets, otherwise `null`. Does not check the expiry. */
export function readHeldLink(token: string, secrets: readonly string[]): HeldLink | null {
  const [submissionId = "", routeId, expiresAtSeconds] = token.split(".");
  const link = { submissionId, routeId: Number(routeId), expiresAtSeconds: Number(expiresAtSeconds) };
  const tokenBytes = Buffer.from(token);
  const isSigned = secrets.some((secret) => {
    const expectedBytes = Buffer.from(heldLinkToken(link, secret));
    return expectedBytes.length === tokenBytes.length && timingSafeEqual(expectedBytes, tokenBytes);
  });
  return isSigned ? link : null;
}

/** `gone`: the content was erased or has expired. */
export type HeldLinkState = "held" | "released" | "dismissed" | "gone";

/** The state of a link's submission and, while the submission is held, the details that the digest shows. */
export type HeldLinkTarget =
  | { readonly state: Exclude<HeldLinkState, "held"> }
  | {
    readonly state: "held";
    readonly tenant: string;
    readonly formKey: string;
    readonly sender: string;
    readonly excerpt: string;
  };

const statementTimeoutMs = 5_000;

/** Methods throw what {@linkcode Pool.run} throws. */
export class HeldLinkStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Finds the submission that a link releases; returns `null` if the link is no longer valid. */
  async find({ submissionId, routeId, expiresAtSeconds }: HeldLink): Promise<HeldLinkTarget | null> {
    const [row] = await this.#pool.run(statementTimeoutMs, (sql) =>
      sql<HeldLinkTarget[]>`
        select state, tenant, form_key as "formKey", sender, excerpt
        from held_link(${submissionId}, ${routeId}::int, ${expiresAtSeconds}::bigint)`);
    return row ?? null;
  }

  /**
   * Releases a link's submission if it is held, and records the client's address in the audit log. Returns the previous
   * state, or `null` if the link is no longer valid.
   */
  async release(
    { submissionId, routeId, expiresAtSeconds }: HeldLink,
    address: string,
  ): Promise<HeldLinkState | null> {
    const [row] = await this.#pool.run(statementTimeoutMs, (sql) =>
      sql<{ state: HeldLinkState | null }[]>`
        select release_held_link(${submissionId}, ${routeId}::int, ${expiresAtSeconds}::bigint, ${address}) as state`);
    return row?.state ?? null;
  }
}
