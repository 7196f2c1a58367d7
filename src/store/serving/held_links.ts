/**
 * Held submissions that a customer releases by the link of a digest.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Pool } from "../pool.ts";

/** What the link says. */
export interface HeldLink {
  readonly submissionId: string;
  /** Whose digest it was sent in. */
  readonly routeId: number;
  /** Seconds since 1970. */
  readonly expiresS: number;
}

/** Where links lead at the forms' address; behind it stands what {@linkcode heldLinkToken} makes. */
export const heldLinkPath = "/held/";

const signed = (text: string, secret: string) =>
  `${text}.${createHmac("sha256", secret).update(heldLinkPath + text).digest("base64url")}`;

/** The link in the clear, and behind it a signature that nobody makes without the secret. */
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

/** What the link leads to; `gone`: its content was erased, or was kept long enough. */
export type HeldLinkState = "held" | "released" | "dismissed" | "gone";

/** The same, and of what is held what the digest showed of it. */
export type FoundHeld =
  | { readonly state: Exclude<HeldLinkState, "held"> }
  | {
    readonly state: "held";
    /** The tenant's name. */
    readonly tenant: string;
    readonly formKey: string;
    readonly sender: string;
    readonly excerpt: string;
  };

const deadlineMs = 5_000;

/** Looks links up and acts on them. Its methods throw what {@linkcode Pool.run} throws. */
export class HeldLinkStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** What a link leads to; `null`: nowhere, or nowhere any more. */
  async find({ submissionId, routeId, expiresS }: HeldLink): Promise<FoundHeld | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<FoundHeld[]>`
        select state, tenant, form_key as "formKey", sender, excerpt
        from held_link(${submissionId}, ${routeId}::int, ${expiresS}::bigint)`);
    return row ?? null;
  }

  /** Releases what is held, notes it in the audit with the client's address, and answers the state that it found. */
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
