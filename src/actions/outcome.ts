/** The outcome of an effect, and the part of the response that an operator sees. */

/** An attempted effect. */
export type Outcome = Done | Failed;

/** The response, if any. */
export interface Heard {
  /** The HTTP or SMTP status. */
  readonly status?: number | null;
  /** The beginning of the response ({@linkcode answerText}); it may quote the lead, so it is erased with it. */
  readonly answer?: string | null;
}

/** A successful effect. */
export interface Done extends Heard {
  readonly kind: "done";
}

/** A failed effect. */
export interface Failed extends Heard {
  readonly kind: "failed";
  /** Such as `http_503` or `smtp_rejected_550`; never the server's text. */
  readonly reason: string;
  /** The requested delay in whole seconds, at least 1. */
  readonly retryAfterSeconds: number | null;
}

/** The reason of an effect that got no connection in time and was not started. */
export const notBegun = "timeout_queue";

/** A failure with its reason. */
export function failed(reason: string, retryAfterSeconds: number | null = null, heard: Heard = {}): Failed {
  return { kind: "failed", reason, retryAfterSeconds, ...heard };
}

const words: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|ENODATA|EDNS)$/, "dns_not_found"],
  // Only the name server's time.
  [/^ETIMEOUT$/, "timeout_name"],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|ABORT_ERR|EABORT)$/, "timeout"],
  [/^(ESERVFAIL|EREFUSED|EAI_AGAIN|EBADRESP|EFORMERR)$/, "dns_failed"],
  [/^ECONNREFUSED$/, "connection_refused"],
  [/^(ECONNRESET|EPIPE|ECONNABORTED|ERR_STREAM_PREMATURE_CLOSE)$/, "connection_closed"],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/, "unreachable"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|HOSTNAME_MISMATCH/, "certificate_refused"],
  [/^(EPROTO|ETLS|ERR_SSL_|ERR_TLS_)/, "tls_failed"],
];

/** A reason for a network error, from its code, because its message may contain an address. */
export function failureWord(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return "failed";
  return words.find(([pattern]) => pattern.test(code))?.[1] ??
    (/^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code.toLowerCase() : "failed");
}

/** Kept part of a response's body: enough for an error message, too little for a copy of the lead. */
export const answerBytesMax = 200;

/**
 * The beginning of an answer as one line of text: its first 200 bytes as UTF-8, cut before a character that they do not
 * hold whole. What is no UTF-8 is replaced, and so are control characters, so that the store takes it and no terminal
 * obeys it.
 *
 * Source: DECISIONS, Decided since (Effects shown to the operator).
 */
export function answerText(body: Uint8Array): string {
  const decoder = new TextDecoder();
  // Streaming mode omits an incomplete last character.
  const text = decoder.decode(body.subarray(0, answerBytesMax), { stream: body.length > answerBytesMax });
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
