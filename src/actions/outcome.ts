/** The outcome of an effect, with the part of the response that operators see. */

export type Outcome = Done | Failed;

export interface ReceivedResponse {
  /** The HTTP or SMTP status. */
  readonly status?: number | null;
  /** The start of the response ({@linkcode responseText}). It may quote the lead and is erased with it. */
  readonly answer?: string | null;
}

export interface Done extends ReceivedResponse {
  readonly kind: "done";
}

export interface Failed extends ReceivedResponse {
  readonly kind: "failed";
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

/** The maximum size of {@linkcode responseText}: enough for an error message, too little for a copy of the lead. */
export const responseTextBytesMax = 200;

/**
 * Returns the first 200 bytes of a response's body as one line of text, without an incomplete last character. Control
 * characters become spaces, because terminals interpret them and PostgreSQL rejects NUL.
 *
 * Source: DECISIONS, Decided since (Effects shown to the operator).
 */
export function responseText(body: Uint8Array): string {
  const decoder = new TextDecoder();
  // Streaming mode omits an incomplete last character.
  const text = decoder.decode(body.subarray(0, responseTextBytesMax), {
    stream: body.length > responseTextBytesMax,
  });
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
