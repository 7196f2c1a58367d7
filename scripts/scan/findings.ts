/**
 * What testssl.sh says of a listener, and what of that is the service's.
 *
 * @module
 */

/** Its levels, the worst last. */
export const levels = ["OK", "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL", "WARN", "FATAL"] as const;

/** An entry of its JSON. */
export interface Finding {
  readonly id: string;
  readonly severity: (typeof levels)[number];
  readonly finding: string;
}

/** Findings that are not the service's fault, each with why. */
const explained: Readonly<Record<string, string>> = {
  cert_chain_of_trust: "the certificate is made for the scan",
  cert_revocation: "the certificate is made for the scan",
  cipher_order: "the client's order is chosen: no suite is weak; testssl.sh 3.0 minds that all the same",
  BREACH: "documents alone are compressed: no secret is in them, and nothing of who asks",
  engine_problem: "the scanner has no GOST",
};

/** Why a finding above LOW is nothing to mend; `null` when there is no such reason. */
export function explanation({ id, severity }: Finding): string | null {
  if (["OK", "INFO", "LOW"].includes(severity)) return "it is no more than a note";
  return explained[id] ?? null;
}
