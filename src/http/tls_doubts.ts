/**
 * What is doubtful about a certificate that can be used all the same: clients may refuse it, today or soon.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";

/** What is told of a certificate chain. */
export interface TlsDoubt {
  /**
   * `chain_incomplete`: the authority that has signed the last one stands in none of them, and is no root: a client that
   * has not met it refuses. `chain_out_of_order`: one is not signed by the next.
   */
  readonly doubt: "not_yet_valid" | "expired" | "expires_soon" | "chain_incomplete" | "chain_out_of_order";
  /** Of the first certificate, the owner's. */
  readonly expiresAt: Date;
}

const dayMs = 86_400_000;
/**
 * Chosen: a fortnight, because whatever renews a certificate of 90 days has tried for as long by then; a quarter of its
 * life where that is less, because those of six days are renewed after three.
 */
const soonMs = 14 * dayMs;

/** The certificates of a PEM text, the owner's first; what else it holds is passed over. */
export function chainOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Whether the owner's certificate is over. */
export function isExpired([first]: readonly X509Certificate[], nowMs: number): boolean {
  return first !== undefined && nowMs >= Date.parse(first.validTo);
}

/** What is doubtful about a chain now. */
export function doubtsOf(chain: readonly X509Certificate[], nowMs: number): TlsDoubt[] {
  const [first] = chain;
  if (first === undefined) return [];
  const expiresAt = new Date(first.validTo);
  const doubts = [timeDoubt(first, nowMs), chainDoubt(chain)];
  return doubts.flatMap((doubt) => doubt === null ? [] : [{ doubt, expiresAt }]);
}

function timeDoubt({ validFrom, validTo }: X509Certificate, nowMs: number): TlsDoubt["doubt"] | null {
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  if (nowMs < fromMs) return "not_yet_valid";
  if (nowMs >= toMs) return "expired";
  return toMs - nowMs < Math.min(soonMs, (toMs - fromMs) / 4) ? "expires_soon" : null;
}

function chainDoubt(chain: readonly X509Certificate[]): TlsDoubt["doubt"] | null {
  const isInOrder = chain.every((one, index) => {
    const next = chain[index + 1];
    return next === undefined || one.checkIssued(next);
  });
  if (!isInOrder) return "chain_out_of_order";
  // Public authorities say where the certificate of the one that has signed is to be had, and sign nobody's own with
  // their root. A private authority says nothing, and those who know it have it.
  const [only, ...others] = chain;
  const isIncomplete = others.length === 0 && only?.infoAccess?.includes("CA Issuers") === true;
  return isIncomplete ? "chain_incomplete" : null;
}
