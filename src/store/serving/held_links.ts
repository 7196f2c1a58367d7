/** Signs and resolves the links in digests that let customers release held submissions. */

import { Buffer } from "node:buffer";
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { type LabelFeatures, readLabelFeatures } from "../label_features.ts";
import type { Pool } from "../pool.ts";

export interface HeldLink {
  readonly submissionId: string;
  /** Identifies the address that the link was sent to, by {@linkcode addressDigest}. */
  readonly addressDigest: string;
  /** Seconds since 1970. */
  readonly expiresAtSeconds: number;
}

/** The path of the links on the forms host. The token is appended. */
export const heldLinkPath = "/held/";

const sign = (text: string, secret: string) =>
  `${text}.${createHmac("sha256", secret).update(heldLinkPath + text).digest("base64url")}`;

/** Returns the first 128 bits of an address's SHA-256 in hex, as `held_link` computes them. */
export function addressDigest(address: string): string {
  return hash("sha256", address, "hex").slice(0, 32);
}

/** Returns a link's token: its fields in plain text, and an HMAC over the path and the fields. */
export function heldLinkToken(
  { submissionId, addressDigest, expiresAtSeconds }: HeldLink,
  secret: string,
): string {
  return sign(`${submissionId}.${addressDigest}.${expiresAtSeconds}`, secret);
}

/** Returns the link if the token is signed with one of the secrets, otherwise `null`. Does not check the expiry. */
export function readHeldLink(token: string, secrets: readonly string[]): HeldLink | null {
  const [submissionId = "", addressDigest = "", expiresAtSeconds] = token.split(".");
  const link = { submissionId, addressDigest, expiresAtSeconds: Number(expiresAtSeconds) };
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
    /** The tenant's time zone. */
    readonly timeZone: string;
    readonly formKey: string;
    /** ISO 8601, UTC. */
    readonly receivedAt: string;
    /** The start of each of the first values, by field name. */
    readonly fields: Readonly<Record<string, string>>;
  };

const statementTimeoutMs = 5_000;

/** Methods throw what {@linkcode Pool.run} throws. */
export class HeldLinkStore {
  readonly #pool: Pool;

  readonly #labelFeatures: LabelFeatures;

  constructor(pool: Pool, labelFeatures: LabelFeatures) {
    this.#pool = pool;
    this.#labelFeatures = labelFeatures;
  }

  /** Finds the submission that a link releases; returns `null` if the link is no longer valid. */
  async find({ submissionId, addressDigest, expiresAtSeconds }: HeldLink): Promise<HeldLinkTarget | null> {
    const [row] = await this.#pool.run(statementTimeoutMs, (sql) =>
      sql<HeldLinkTarget[]>`
        select state, tenant, time_zone as "timeZone", form_key as "formKey", received_at as "receivedAt", fields
        from held_link(${submissionId}, ${addressDigest}, ${expiresAtSeconds}::bigint)`);
    return row ?? null;
  }

  /**
   * Releases a link's submission if it is held, and records the client's address in the audit log. Returns the previous
   * state, or `null` if the link is no longer valid.
   */
  async release(
    { submissionId, addressDigest, expiresAtSeconds }: HeldLink,
    address: string,
  ): Promise<HeldLinkState | null> {
    const features = await readLabelFeatures(this.#pool, submissionId, this.#labelFeatures);
    const [row] = await this.#pool.run(statementTimeoutMs, (sql) =>
      sql<{ state: HeldLinkState | null }[]>`
        select release_held_link(
          ${submissionId}, ${addressDigest}, ${expiresAtSeconds}::bigint, ${features}::int[], ${address}) as state`);
    return row?.state ?? null;
  }
}
