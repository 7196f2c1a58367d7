/** Held submissions that a customer releases through a link in a digest. */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Pool } from "../pool.ts";

export interface HeldLink {
  readonly submissionId: string;
  readonly routeId: number;
  /** Seconds since 1970. */
  readonly expiresS: number;
}

/** The path of links at the forms' address; {@linkcode heldLinkToken} follows. */
export const heldLinkPath = "/held/";

const signed = (text: string, secret: string) =>
  `${text}.${createHmac("sha256", secret).update(heldLinkPath + text).digest("base64url")}`;

/** The link's fields in the clear, and an HMAC over them. */
export function heldLinkToken({ submissionId, routeId, expiresS }: HeldLink, secret: string): string {
  return signed(`${submissionId}.${routeId}.${expiresS}`, secret);
}

/** The link that one of the secrets has signed, or `null`. */
export function readHeldLink(token: string, secrets: readonly string[]): HeldLink | null {
  const [submissionId = "", routeId, expiresS] = token.split(".");
  const link = { submissionId, routeId: Number(routeId), expiresS: Number(expiresS) };
  const given = Buffer.from(token);
  const isSigned = secrets.some((secret) => {
    const made = Buffer.from(heldLinkToken(link, secret));
    return made.length === given.length && timingSafeEqual(made, given);
  });
  return isSigned ? link : null;
}

/** `gone`: its content was erased or has expired. */
export type HeldLinkState = "held" | "released" | "dismissed" | "gone";

/** The state, and for a held submission what the digest showed of it. */
export type FoundHeld =
  | { readonly state: Exclude<HeldLinkState, "held"> }
  | {
    readonly state: "held";
    readonly tenant: string;
    readonly formKey: string;
    readonly sender: string;
    readonly excerpt: string;
  };

const deadlineMs = 5_000;

/** Resolves links. Methods throw what {@linkcode Pool.run} throws. */
export class HeldLinkStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Finds the submission of a link; `null` when the link is not valid any more. */
  async find({ submissionId, routeId, expiresS }: HeldLink): Promise<FoundHeld | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<FoundHeld[]>`
        select state, tenant, form_key as "formKey", sender, excerpt
        from held_link(${submissionId}, ${routeId}::int, ${expiresS}::bigint)`);
    return row ?? null;
  }

  /** Releases a held submission, audits it with the client's address, and returns the state it had before. */
  async release(
    { submissionId, routeId, expiresS }: HeldLink,
    address: string,
  ): Promise<HeldLinkState | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<{ state: HeldLinkState | null }[]>`
        select release_held_link(${submissionId}, ${routeId}::int, ${expiresS}::bigint, ${address}) as state`);
    return row?.state ?? null;
  }
}
