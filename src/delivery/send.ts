/** Sends events to the actions tier (`PUT /v1/events/{event_id}`) and interprets its responses. */

import net from "node:net";
import tls from "node:tls";
import type { Failed, RequestResult } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type Target } from "../http/outbound/connection_pool.ts";
import type { TlsContext, TlsFiles, TlsObservation } from "../http/tls_files.ts";
import type { Claimed } from "../store/delivery/outbox.ts";

/** The causes of a tier failure, in the order of a request's stages. */
export const failureCauses = [
  /** The host name could not be resolved. */
  "name",
  /** Nothing listens at the address. */
  "refused",
  /** The connection failed for another reason or timed out. */
  "connect",
  "handshake",
  /** The tier closed a new connection, usually because it rejected our certificate. */
  "client_rejected",
  "timeout",
  /** The tier closed the connection instead of responding. */
  "closed",
  /** The response is not HTTP, or is too large. */
  "protocol",
  /** The tier responded with 503. */
  "unavailable",
] as const;

export type FailureCause = typeof failureCauses[number];

export interface TierFailure {
  readonly cause: FailureCause;
  /** The error code, or `503`. */
  readonly code: string;
}

const unavailableStatus = 503;

const nameCodes = /^(ENOTFOUND|ENODATA|EAI_\w+)$/;
const protocolCodes = /^(EPROTO|EMSGSIZE)$/;

function tierFailure(
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
  return stage === "settling" && isSecure ? "client_rejected" : "closed";
}

/**
 * Returns a request's JSON body. Inserts the stored text of `lead` and `extra`, because parsing would lose digits.
 *
 * Source: DECISIONS, Delivery.
 */
export function payload(row: Claimed): string {
  const content = row.kind === "lead" ? "lead" : "submission";
  return `{"event_id":${JSON.stringify(row.event_id)},"kind":${JSON.stringify(row.kind)},` +
    `"tenant":${JSON.stringify(row.tenant)},"source":${JSON.stringify(row.source)},` +
    `"received_at":${JSON.stringify(row.received_at)},"attempt":${row.number},` +
    `"${content}":${row.lead ?? "null"},"extra":${row.extra ?? "{}"},` +
    `"flags":${JSON.stringify(row.flags === "" ? [] : row.flags.split(","))}}`;
}

export type SendOutcome =
  | { readonly kind: "delivered"; readonly status: number }
  /** A status other than 2xx and 503: a failure of the event, not of the tier. */
  | {
    readonly kind: "refused";
    readonly status: number;
    readonly reason: string | null;
    readonly retryAfterMs: number;
  }
  /** No connection, no valid response in time, or a 503. */
  | Unreachable;

/** A failure of the tier. If the event was sent, the event itself may be the cause. */
interface Unreachable {
  readonly kind: "unreachable";
  readonly status: number | null;
  readonly reason: string;
  readonly failure: TierFailure;
  /** Whether bytes of the event were written to a connection. */
  readonly isSent: boolean;
}

interface SendOptions {
  /** The base URL: `https:`, or `http:` for benchmarks and tests. Its path is a prefix. */
  readonly url: string;
  /** The TLS files; if `null`, the system's CAs are trusted and no client certificate is presented. */
  readonly tls: TlsFiles | null;
  /** The total timeout, from the wait for a connection to the end of the response. */
  readonly timeoutMs: number;
  /** The maximum number of concurrent requests; others wait. */
  readonly connectionsMax: number;
  /** The interval at which the certificate files are checked for renewal. Default: 10 s. */
  readonly filesCheckMs?: number;
  /** How long to wait for a rejection after a handshake, or the handshake's duration if longer. Default: 50 ms. */
  readonly settleMs?: number;
  readonly observe: (observation: TlsObservation) => void;
}

// The timeout for opening a connection, including its handshake.
const readyTimeoutMs = 10_000;
const filesCheckMs = 10_000;

/**
 * Sends events to the actions tier over kept-alive connections.
 *
 * Chosen: with a client certificate, a new connection waits `settleMs`, because a rejection's TLS alert is lost if the
 * client has already written (ECONNRESET on both runtimes).
 */
export class Sender {
  readonly #pool: ConnectionPool;
  readonly #target: Target;
  readonly #timeoutMs: number;
  /** The parts of the request's head before and after the event id. */
  readonly #head: readonly [string, string];
  readonly #isSecure: boolean;
  readonly #stopWatching: () => void = () => {};

  constructor(options: SendOptions) {
    const { tls: files, connectionsMax, timeoutMs, settleMs = 50 } = options;
    const url = new URL(options.url);
    const path = url.pathname.replace(/\/$/, "");
    // HTTP/1.0 servers keep a connection open only on request.
    const fields = ` HTTP/1.1\r\nHost: ${url.host}\r\nConnection: keep-alive\r\n`;
    this.#head = [
      `PUT ${path}/v1/events/`,
      `${fields}Content-Type: application/json\r\nContent-Length: `,
    ];
    const isPlain = url.protocol === "http:";
    this.#isSecure = !isPlain;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port) || (isPlain ? 80 : 443);
    this.#target = { hostname: host, port, addresses: [host] };
    this.#timeoutMs = timeoutMs;
    const common = {
      mayStart: (_: number, total: number) => total < connectionsMax,
      readyTimeoutMs,
      ...(files === null ? {} : { settleMs }),
    };
    if (isPlain) {
      const connect = (_: Target, host: string, onread: net.OnReadOpts) =>
        net.connect({ host, port, onread });
      this.#pool = new ConnectionPool({ ...common, connect, readyEvent: "connect" });
      return;
    }
    let secure = secureOptions({ host, port }, files?.context ?? null);
    const connect = (_: Target, __: string, onread: net.OnReadOpts) =>
      tls.connect(withReadBuffer(onread, secure));
    this.#pool = new ConnectionPool({ ...common, connect, readyEvent: "secureConnect" });
    if (files === null) return;
    this.#stopWatching = files.watch({
      everyMs: options.filesCheckMs ?? filesCheckMs,
      observe: (observation) => {
        if (observation.kind === "certificate_renewed") {
          secure = secureOptions({ host, port }, files.context);
          // Closes the connections that use the old files, each after its current request.
          this.#pool.retire();
        }
        options.observe(observation);
      },
    });
  }

  /**
   * Sends an event at most once; never rejects. The `reason` of `unreachable` is the connection's error code
   * (`ECONNREFUSED`, `ETIMEDOUT`, …), `EPROTO` (not HTTP), `EMSGSIZE` (the response is too large) or `503`.
   */
  send(eventId: string, body: string): Promise<SendOutcome> {
    const [before, after] = this.#head;
    const bytes = Buffer.byteLength(body);
    const text = `${before}${encodeURIComponent(eventId)}${after}${bytes}\r\n\r\n${body}`;
    const isSecure = this.#isSecure;
    const request = { target: this.#target, tenant: "", text, timeoutMs: this.#timeoutMs };
    return new Promise((resolve) => {
      this.#pool.send(request, (result) => resolve(outcomeOf(result, { isSecure })));
    });
  }

  /** Opens a connection for the next event; resolves to `null` on success, and never rejects. */
  async probe(timeoutMs: number): Promise<TierFailure | null> {
    const failed = await this.#pool.open(this.#target, timeoutMs);
    return failed === null ? null : tierFailure(failed, { isSecure: this.#isSecure });
  }

  /** Closes all connections; requests in flight become `unreachable`. */
  close(): void {
    this.#stopWatching();
    this.#pool.close();
  }
}

/**
 * Returns TLS options. Chosen: no session resumption, because it would keep using a certificate that has since been
 * renewed.
 */
function secureOptions(
  address: { readonly host: string; readonly port: number },
  files: TlsContext | null,
): tls.ConnectionOptions {
  const context = files ?? { minVersion: "TLSv1.2" as const };
  return {
    ...address,
    ...context,
    // Parses the files once, not for each connection.
    secureContext: tls.createSecureContext(context),
    // SNI does not allow IP addresses; the certificate is verified against the IP address nevertheless.
    servername: net.isIP(address.host) === 0 ? address.host : "",
    // Applies even if the environment disables verification.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  };
}

// `onread` is documented by Node but missing from its types.
function withReadBuffer(onread: net.OnReadOpts, options: tls.ConnectionOptions): tls.ConnectionOptions {
  return Object.assign({ onread }, options);
}

function outcomeOf(result: RequestResult, { isSecure }: { readonly isSecure: boolean }): SendOutcome {
  const receivedStatus = result.kind === "failed" ? result.status : result.response.head.status;
  // A 503 counts even if its body is incomplete, as when the process is killed.
  if (receivedStatus === unavailableStatus) {
    const code = String(receivedStatus);
    const failure: TierFailure = { cause: "unavailable", code };
    return { kind: "unreachable", status: receivedStatus, reason: code, failure, isSent: true };
  }
  if (result.kind === "failed") {
    const { status, reason, stage } = result;
    const failure = tierFailure(result, { isSecure });
    return { kind: "unreachable", status, reason, failure, isSent: stage === "sent" };
  }
  const { head: { status, retryAfter }, body } = result.response;
  if (status >= 200 && status < 300) return { kind: "delivered", status };
  return {
    kind: "refused",
    status,
    reason: refusalReason(body.toString("utf8")),
    retryAfterMs: parseRetryAfter(retryAfter),
  };
}

/** Converts `Retry-After` in seconds to milliseconds, at most a day, so that no response delays a lead indefinitely. */
function parseRetryAfter(value: string | null): number {
  return value !== null && /^\d{1,9}$/.test(value) ? Math.min(Number(value), 86_400) * 1000 : 0;
}

/** The tier's error code if it was too busy to start any of the failed effects; no attempt is then recorded. */
export const effectsNotBegun = "effects_not_begun";

/** Returns the failed effects or the error code in the tier's response, without lead content. */
function refusalReason(text: string): string | null {
  try {
    const result = JSON.parse(text) as { error?: unknown; effects?: Record<string, unknown> };
    const failed = Object.entries(result.effects ?? {})
      .filter(([, state]) => typeof state === "string" && state.startsWith("failed"))
      .map(([effect, state]) => `${effect} ${state}`);
    const reason = failed.length > 0 && result.error !== effectsNotBegun ? failed.join("; ") : result.error;
    // The store does not accept NUL, and a log line must not contain line breaks.
    return typeof reason === "string" ? reason.replace(/\p{Cc}/gu, " ").slice(0, 200) : null;
  } catch {
    return null;
  }
}
