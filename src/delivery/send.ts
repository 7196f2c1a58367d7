/** Sends events (`PUT /v1/events/{event_id}`) and dry runs of routes (`POST /v1/tests`) to the actions tier. */

import net from "node:net";
import tls from "node:tls";
import type { Failed, RequestResult } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type OutboundRequest, type Target } from "../http/outbound/connection_pool.ts";
import type { TlsContext, TlsFiles, TlsObservation } from "../http/tls_files.ts";

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

export type SendOutcome =
  | { readonly kind: "delivered"; readonly status: number }
  /** A status other than 2xx and 503: a failure of the event, not of the tier. */
  | {
    readonly kind: "refused";
    readonly status: number;
    readonly reason: string | null;
    readonly retryAfterMs: number;
    /**
     * Whether to repeat the event: `repeat_replay` also if it is a replay, because the CRM refused credentials that it accepts for
     * others; `repeat_always` also after the last attempt, because an effect waits for its CRM or for the end of a pause; `wait`
     * without counting this attempt.
     */
    readonly next: "repeat" | "repeat_replay" | "repeat_always" | "wait" | "give_up";
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
// Less than the 20 s that the console's own request may take.
const dryRunTimeoutMs = 10_000;

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
  /** The path of the base URL. */
  readonly #path: string;
  /** The request's head from the end of its target to the value of Content-Length. */
  readonly #head: string;
  readonly #isSecure: boolean;
  readonly #stopWatching: () => void = () => {};

  constructor(options: SendOptions) {
    const { tls: files, connectionsMax, timeoutMs, settleMs = 50 } = options;
    const url = new URL(options.url);
    this.#path = url.pathname.replace(/\/$/, "");
    // HTTP/1.0 servers keep a connection open only on request.
    const fields = ` HTTP/1.1\r\nHost: ${url.host}\r\nConnection: keep-alive\r\n`;
    this.#head = `${fields}Content-Type: application/json\r\nContent-Length: `;
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
  async send(eventId: string, body: string): Promise<SendOutcome> {
    const target = `PUT ${this.#path}/v1/events/${encodeURIComponent(eventId)}`;
    return outcomeOf(await this.#request(target, body), { isSecure: this.#isSecure });
  }

  /** Posts a dry run; returns the response with the first 64 KiB of its body, or why there is none, and never rejects. */
  async dryRun(body: string): Promise<{ readonly status: number; readonly text: string } | TierFailure> {
    const options = { timeoutMs: dryRunTimeoutMs, isRetriedIfLost: true };
    const result = await this.#request(`POST ${this.#path}/v1/tests`, body, options);
    if (result.kind === "failed") return tierFailure(result, { isSecure: this.#isSecure });
    return { status: result.response.head.status, text: result.response.body.toString("utf8") };
  }

  #request(
    target: string,
    body: string,
    options: Partial<OutboundRequest> = {},
  ): Promise<RequestResult> {
    const text = `${target}${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const request = { target: this.#target, tenant: "", text, timeoutMs: this.#timeoutMs, ...options };
    return new Promise((resolve) => this.#pool.send(request, resolve));
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
    retryAfterMs: parseRetryAfter(retryAfter),
    ...refusalOf(body.toString("utf8")),
  };
}

/** The longest `Retry-After` that is respected. */
export const retryAfterMsMax = 86_400_000;

/** Converts `Retry-After` in seconds to milliseconds, at most a day, so that no response delays a lead indefinitely. */
function parseRetryAfter(value: string | null): number {
  return value !== null && /^\d+$/.test(value) ? Math.min(Number(value) * 1000, retryAfterMsMax) : 0;
}

/** The tier's error code if it was too busy to start any of the failed effects; no attempt is then recorded. */
export const effectsNotBegun = "effects_not_begun";

/** Returns the failed effects or the error code in the tier's response, without lead content. */
function refusalOf(text: string): Pick<Extract<SendOutcome, { kind: "refused" }>, "reason" | "next"> {
  try {
    const { error, reason: code, effects = {} } = JSON.parse(text) as {
      error?: unknown;
      reason?: unknown;
      effects?: Record<string, unknown>;
    };
    const states = Object.entries(effects).map(([effect, state]) => `${effect} ${state}`);
    const waiting = states.filter((state) => /^[a-z]+ waiting/.test(state));
    const failed = states.filter((state) => /^[a-z]+ failed/.test(state));
    const isWaiting = error === "effects_waiting" && typeof code === "string" && /^[a-z_]{1,40}$/.test(code);
    if (isWaiting && failed.length === 0) return { reason: code, next: "wait" };
    // What waits comes first, because it must not be cut: what ends the wait looks for it.
    const known = [...waiting, ...failed].join("; ");
    const reason = known !== "" && error !== effectsNotBegun ? known : error;
    return {
      // The store does not accept NUL, and a log line must not contain line breaks.
      reason: typeof reason === "string" ? reason.replace(/\p{Cc}/gu, " ").slice(0, 200) : null,
      next: isWaiting
        ? "wait"
        : error === "effects_refused"
        ? "give_up"
        : waiting.length > 0
        ? "repeat_always"
        : states.includes("crm failed: crm_unauthorized")
        ? "repeat_replay"
        : "repeat",
    };
  } catch {
    return { reason: null, next: "repeat" };
  }
}
