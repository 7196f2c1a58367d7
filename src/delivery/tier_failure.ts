/**
 * Why the actions tier gave no answer: in a word for figures, and in the code that the runtime gave.
 *
 * @module
 */

import type { Failed } from "../http/outbound/client_connection.ts";

/** What can go wrong, by how far it came. */
export const failureCauses = [
  /** Its name was not resolved. */
  "name",
  /** Nobody listens at its address. */
  "refused",
  /** No connection for another reason, or none in time. */
  "connect",
  /** TLS was not agreed on: its certificate, or its version. */
  "handshake",
  /** It cut a connection that had just been made: most often it does not let our certificate in. */
  "not_let_in",
  /** It did not answer in time what it was asked. */
  "timeout",
  /** It cut a connection instead of answering. */
  "cut",
  /** It answered what is no HTTP. */
  "protocol",
  /** It answered 503: it cannot work. */
  "unavailable",
] as const;

/** One of {@linkcode failureCauses}. */
export type FailureCause = typeof failureCauses[number];

/** A failure of the tier. */
export interface TierFailure {
  readonly cause: FailureCause;
  /** The error's code, `503` where that was the answer. */
  readonly code: string;
}

/** The answer with which the tier says that it cannot work, whatever it was asked. */
export const unavailableStatus = 503;

const nameCodes = /^(ENOTFOUND|ENODATA|EAI_\w+)$/;
const protocolCodes = /^(EPROTO|EMSGSIZE)$/;

/** What an exchange failed of. `isSecure`: over TLS. */
export function tierFailure(
  { stage, reason }: Pick<Failed, "stage" | "reason">,
  { isSecure }: { readonly isSecure: boolean },
): TierFailure {
  return { cause: causeOf(stage, { code: reason, isSecure }), code: reason };
}

function causeOf(
  stage: Failed["stage"],
  { code, isSecure }: { readonly code: string; readonly isSecure: boolean },
): FailureCause {
  if (stage === "waiting") return "timeout";
  if (stage === "connecting") {
    return nameCodes.test(code) ? "name" : code === "ECONNREFUSED" ? "refused" : "connect";
  }
  if (code === "ETIMEDOUT") return "timeout";
  if (stage === "handshake") return "handshake";
  if (protocolCodes.test(code)) return "protocol";
  return stage === "settling" && isSecure ? "not_let_in" : "cut";
}
