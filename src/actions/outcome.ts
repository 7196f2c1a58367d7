/** The outcome of an effect, with the part of the response that operators see. */

import type { EffectOutcome } from "../store/delivery/effects.ts";

export type Outcome = Done | Failed;

export interface ReceivedResponse {
  /** The HTTP or SMTP status. */
  readonly status?: number | null;
  /** The start of the response ({@linkcode responseText}). It may quote the lead and is erased with it. */
  readonly answer?: string | null;
  /** The response's chosen headers ({@linkcode responseHeaders}), erased with the answer. */
  readonly headers?: Readonly<Record<string, string>> | null;
}

export interface Done extends ReceivedResponse {
  readonly kind: "done";
  /** Whether a recipe's conditions left nothing to send. */
  readonly isUnsent?: true;
}

export interface Failed extends ReceivedResponse {
  /** `failed` is repeated; `refused` is not; `waiting` is not the event's fault and is repeated until it succeeds. */
  readonly kind: Exclude<EffectOutcome, "done">;
  /** A code such as `http_503` or `smtp_rejected_550`; never the server's text. */
  readonly reason: string;
  /** The delay that the receiver requested, in whole seconds, at least 1. */
  readonly retryAfterSeconds: number | null;
}

/** The reason for a failed effect that got no connection in time and was not started. */
export const queueTimeout = "timeout_queue";

export function failed(
  reason: string,
  retryAfterSeconds: number | null = null,
  received: ReceivedResponse = {},
): Failed {
  return { kind: "failed", reason, retryAfterSeconds, ...received };
}

/** Returns the outcome of an event that should be sent again after a time, without counting the attempt. */
export function waiting(reason: string, ms: number): Failed {
  return { ...failed(reason, Math.max(1, Math.ceil(ms / 1_000))), kind: "waiting" };
}

const reasonsByCode: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|ENODATA|EDNS)$/, "dns_not_found"],
  // The resolver's code for its own timeout.
  [/^ETIMEOUT$/, "timeout_name"],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|ABORT_ERR|EABORT)$/, "timeout"],
  [/^(ESERVFAIL|EREFUSED|EAI_AGAIN|EBADRESP|EFORMERR)$/, "dns_failed"],
  [/^ECONNREFUSED$/, "connection_refused"],
  [/^(ECONNRESET|EPIPE|ECONNABORTED|ERR_STREAM_PREMATURE_CLOSE)$/, "connection_closed"],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/, "unreachable"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|HOSTNAME_MISMATCH/, "certificate_refused"],
  [/^(EPROTO|ETLS|ERR_SSL_|ERR_TLS_)/, "tls_failed"],
];

/** Returns the reason for a network error, derived from its code, because its message may contain an address. */
export function failureReason(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return "failed";
  return reasonsByCode.find(([pattern]) => pattern.test(code))?.[1] ??
    (/^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code.toLowerCase() : "failed");
}

/** The maximum size of {@linkcode responseText}. Source: DECISIONS, section 11 (Attempts). */
export const responseTextBytesMax = 2_000;

/**
 * Returns the first 2,000 bytes of a response's body as one line of text, without an incomplete last character. Control
 * characters become spaces, because terminals interpret them and PostgreSQL rejects NUL.
 */
export function responseText(body: Uint8Array): string {
  const decoder = new TextDecoder();
  // Streaming mode omits an incomplete last character.
  const text = decoder.decode(body.subarray(0, responseTextBytesMax), {
    stream: body.length > responseTextBytesMax,
  });
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
