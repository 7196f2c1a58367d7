/**
 * Sends an event to the actions tier, `PUT /v1/events/{event_id}`, over a kept-alive connection, and interprets the response.
 */

import net from "node:net";
import tls from "node:tls";
import type { Answer, Failed } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type Target } from "../http/outbound/connection_pool.ts";
import type { TlsContext, TlsFiles, TlsObservation } from "../http/tls_files.ts";
import type { Claimed } from "../store/delivery/outbox.ts";

/** Failure causes, by stage. */
export const failureCauses = [
  /** The name was not resolved. */
  "name",
  /** Nothing listens at the address. */
  "refused",
  /** No connection for another reason or in time. */
  "connect",
  /** The TLS handshake failed: certificate or version. */
  "handshake",
  /** It closed a new connection, usually because it refuses our certificate. */
  "not_let_in",
  /** It did not respond in time. */
  "timeout",
  /** It closed the connection instead of responding. */
  "cut",
  /** Its response is not HTTP. */
  "protocol",
  /** It answered 503. */
  "unavailable",
] as const;

/** One of {@linkcode failureCauses}. */
export type FailureCause = typeof failureCauses[number];

/** A tier failure. */
export interface TierFailure {
  readonly cause: FailureCause;
  /** The error code, or `503`. */
  readonly code: string;
}

/** The tier's status for being unable to work at all. */
const unavailableStatus = 503;

const nameCodes = /^(ENOTFOUND|ENODATA|EAI_\w+)$/;
const protocolCodes = /^(EPROTO|EMSGSIZE)$/;

/** The cause of a failed exchange. */
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
  return stage === "settling" && isSecure ? "not_let_in" : "cut";
}

/**
 * The JSON body. Lead and extra are inserted as stored text, because parsing would lose digits.
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

/** The outcome of a request. */
export type SendOutcome =
  /** 2xx. */
  | { readonly kind: "delivered"; readonly status: number }
  /** Any other status: a problem of this row. */
  | {
    readonly kind: "refused";
    readonly status: number;
    readonly reason: string | null;
    readonly retryAfterMs: number;
  }
  /** No response in time, no connection, or 503. */
  | Unreachable;

/** A failure of the tier; if the event was sent, possibly of the event. */
interface Unreachable {
  readonly kind: "unreachable";
  readonly status: number | null;
  /** The failure code. */
  readonly reason: string;
  readonly failure: TierFailure;
  /** Bytes of the event were written to a connection. */
  readonly isSent: boolean;
}

/** The tier's address and limits. */
interface SendOptions {
  /** The base URL, `https:`, or `http:` for benchmarks and tests; its path is a prefix. */
  readonly url: string;
  /** Without them, `https:` trusts the system's authorities and presents no certificate. */
  readonly tls: TlsFiles | null;
  /** Total time, from the wait for a connection to the end of the response. */
  readonly timeoutMs: number;
  /** Maximum concurrent requests; others wait. */
  readonly connectionsMax: number;
  /** Interval of checks for renewed certificate files. Default: 10 s. */
  readonly filesCheckMs?: number;
  /** Delay after a handshake, or its own duration if longer, for the tier to refuse the client. Default: 50 ms. */
  readonly settleMs?: number;
  readonly observe: (observation: TlsObservation) => void;
}

// Time to establish a connection.
const readyMs = 10_000;
// Interval of checks for renewed certificate files.
const filesCheckMs = 10_000;

/**
 * Sends events to the actions tier over kept-alive connections. With a client certificate, a new connection waits until
 * the tier has had time to refuse it.
 *
 * Chosen: that wait, because a refusal's alert is lost if something was written before (ECONNRESET on both runtimes).
 * Rejected: a health request on each new connection, because not every tier has that page.
 */
export class Sender {
  readonly #pool: ConnectionPool;
  readonly #target: Target;
  readonly #timeoutMs: number;
  /** The head before and after the event id. */
  readonly #head: readonly [string, string];
  readonly #isSecure: boolean;
  readonly #stopWatching: () => void = () => {};

  constructor(options: SendOptions) {
    const { tls: files, connectionsMax, timeoutMs, settleMs = 50 } = options;
    const url = new URL(options.url);
    const path = url.pathname.replace(/\/$/, "");
    // HTTP/1.0 servers keep connections only on request.
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
      readyMs,
      ...(files === null ? {} : { settleMs }),
    };
    if (isPlain) {
      const connect = (_: Target, host: string, onread: net.OnReadOpts) =>
        net.connect({ host, port, onread });
      this.#pool = new ConnectionPool({ ...common, connect, opened: "connect" });
      return;
    }
    let secure = secureOptions({ host, port }, files?.context ?? null);
    const connect = (_: Target, __: string, onread: net.OnReadOpts) =>
      tls.connect(readingInto(onread, secure));
    this.#pool = new ConnectionPool({ ...common, connect, opened: "secureConnect" });
    if (files === null) return;
    this.#stopWatching = files.watch({
      everyMs: options.filesCheckMs ?? filesCheckMs,
      observe: (observation) => {
        if (observation.kind === "certificate_renewed") {
          secure = secureOptions({ host, port }, files.context);
          // Connections made with the old files end.
          this.#pool.retire();
        }
        options.observe(observation);
      },
    });
  }

  /**
   * Sends one event at most once and returns its outcome; never throws. The reason of `unreachable` is the connection's
   * error code (`ECONNREFUSED`, `ETIMEDOUT`, …), `EPROTO` (not HTTP) or `EMSGSIZE` (an endless response).
   */
  send(eventId: string, body: string): Promise<SendOutcome> {
    const [before, after] = this.#head;
    const bytes = Buffer.byteLength(body);
    const text = `${before}${encodeURIComponent(eventId)}${after}${bytes}\r\n\r\n${body}`;
    const isSecure = this.#isSecure;
    const request = { target: this.#target, tenant: "", text, timeoutMs: this.#timeoutMs };
    return new Promise((resolve) => {
      this.#pool.send(request, (answer) => resolve(outcomeOf(answer, { isSecure })));
    });
  }

  /** Opens a connection for the next event; `null` on success. Never throws. */
  async probe(timeoutMs: number): Promise<TierFailure | null> {
    const failed = await this.#pool.open(this.#target, timeoutMs);
    return failed === null ? null : tierFailure(failed, { isSecure: this.#isSecure });
  }

  /** Closes all connections; requests in flight are `unreachable`. */
  close(): void {
    this.#stopWatching();
    this.#pool.close();
  }
}

/** Chosen: no session resumption, because it would keep using a certificate that has been renewed since. */
function secureOptions(
  address: { readonly host: string; readonly port: number },
  files: TlsContext | null,
): tls.ConnectionOptions {
  const context = files ?? { minVersion: "TLSv1.2" as const };
  return {
    ...address,
    ...context,
    // Parses the files once instead of per connection.
    secureContext: tls.createSecureContext(context),
    // SNI takes no IP address; the certificate's IP addresses are still verified.
    servername: net.isIP(address.host) === 0 ? address.host : "",
    // Even if the environment disables it.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  };
}

// Documented by Node, but missing from its types.
function readingInto(onread: net.OnReadOpts, options: tls.ConnectionOptions): tls.ConnectionOptions {
  return Object.assign({ onread }, options);
}

function outcomeOf(answer: Answer, { isSecure }: { readonly isSecure: boolean }): SendOutcome {
  if (answer.kind === "failed") {
    const { status, reason, stage } = answer;
    const failure = tierFailure(answer, { isSecure });
    return { kind: "unreachable", status, reason, failure, isSent: stage === "sent" };
  }
  const { head: { status, retryAfter }, body } = answer.response;
  if (status >= 200 && status < 300) return { kind: "delivered", status };
  if (status === unavailableStatus) {
    const code = String(status);
    const failure: TierFailure = { cause: "unavailable", code };
    return { kind: "unreachable", status, reason: code, failure, isSent: true };
  }
  return {
    kind: "refused",
    status,
    reason: refusalWord(body.toString("utf8")),
    retryAfterMs: readRetryAfter(retryAfter),
  };
}

/** `Retry-After` in seconds, at most a day, so that no response can park a lead. */
function readRetryAfter(value: string | null): number {
  return value !== null && /^\d{1,9}$/.test(value) ? Math.min(Number(value), 86_400) * 1000 : 0;
}

/** The tier's error if it was too busy to start: not an attempt. */
export const notBegun = "effects_not_begun";

/** The failed effects or the error code of the tier's response, without content. */
function refusalWord(text: string): string | null {
  try {
    const answer = JSON.parse(text) as { error?: unknown; effects?: Record<string, unknown> };
    const failed = Object.entries(answer.effects ?? {})
      .filter(([, state]) => typeof state === "string" && state.startsWith("failed"))
      .map(([effect, state]) => `${effect} ${state}`);
    const word = failed.length > 0 && answer.error !== notBegun ? failed.join("; ") : answer.error;
    // The store accepts no NUL, and a log no line breaks.
    return typeof word === "string" ? word.replace(/\p{Cc}/gu, " ").slice(0, 200) : null;
  } catch {
    return null;
  }
}
