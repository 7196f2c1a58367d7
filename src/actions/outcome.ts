/**
 * What became of an effect, and what of the other side's answer an operator gets to see.
 *
 * @module
 */

/** An effect that was tried. */
export type Outcome = Done | Failed;

/** What the other side said to it; left out where it said nothing. */
export interface Heard {
  /** The status of its answer: HTTP's, or SMTP's. */
  readonly status?: number | null;
  /** The beginning of its answer, see {@linkcode answerText}; may quote the lead, so it is erased with it. */
  readonly answer?: string | null;
}

/** One that was done. */
export interface Done extends Heard {
  readonly kind: "done";
}

/** One that could not be done. */
export interface Failed extends Heard {
  readonly kind: "failed";
  /** A word like `http_503` or `smtp_rejected_550`, never text of the other side. */
  readonly reason: string;
  /** When the other side asks to be left alone, for how long; whole seconds, 1 or more. */
  readonly retryAfterSeconds: number | null;
}

/** The reason of what waited for a connection for too long: nothing of it was begun. */
export const notBegun = "timeout_queue";

/** A failure with its reason. */
export function failed(reason: string, retryAfterSeconds: number | null = null, heard: Heard = {}): Failed {
  return { kind: "failed", reason, retryAfterSeconds, ...heard };
}

const words: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|ENODATA|EDNS)$/, "dns_not_found"],
  // The name server's time, and nobody else's.
  [/^ETIMEOUT$/, "timeout_name"],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|ABORT_ERR|EABORT)$/, "timeout"],
  [/^(ESERVFAIL|EREFUSED|EAI_AGAIN|EBADRESP|EFORMERR)$/, "dns_failed"],
  [/^ECONNREFUSED$/, "connection_refused"],
  [/^(ECONNRESET|EPIPE|ECONNABORTED|ERR_STREAM_PREMATURE_CLOSE)$/, "connection_closed"],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/, "unreachable"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|HOSTNAME_MISMATCH/, "certificate_refused"],
  [/^(EPROTO|ETLS|ERR_SSL_|ERR_TLS_)/, "tls_failed"],
];

/** A word for an error of the network: made from its code, since its message may name an address. */
export function failureWord(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return "failed";
  return words.find(([pattern]) => pattern.test(code))?.[1] ??
    (/^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code.toLowerCase() : "failed");
}

/** How much of an answer's body is kept: enough to say what it did not like, too little to be a copy of the lead. */
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
  // As a stream: a character whose rest is missing is left out instead of replaced.
  const text = decoder.decode(body.subarray(0, answerBytesMax), { stream: body.length > answerBytesMax });
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}
