/**
 * One delivery request to the actions tier, `PUT /v1/events/{event_id}`, over a kept-alive connection, and what the answer
 * means.
 *
 * @module
 */

import net from "node:net";
import tls from "node:tls";
import type { Answer, Failed } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type Target } from "../http/outbound/connection_pool.ts";
import type { TlsContext, TlsFiles, TlsObservation } from "../http/tls_files.ts";
import type { Claimed } from "../store/delivery/outbox.ts";

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
const unavailableStatus = 503;

const nameCodes = /^(ENOTFOUND|ENODATA|EAI_\w+)$/;
const protocolCodes = /^(EPROTO|EMSGSIZE)$/;

/** What an exchange failed of. `isSecure`: over TLS. */
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
 * The JSON body. Lead and extra go in as the text they are stored as, because parsing them would lose digits.
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

/** What became of a request. */
export type SendOutcome =
  /** 2xx: the tier has it. */
  | { readonly kind: "delivered"; readonly status: number }
  /** The tier answered otherwise: this row's trouble. */
  | {
    readonly kind: "refused";
    readonly status: number;
    readonly reason: string | null;
    readonly retryAfterMs: number;
  }
  /** No answer in time, no connection, or 503. */
  | Unreachable;

/** The tier's trouble; that of the event too when it was sent and got no answer. */
interface Unreachable {
  readonly kind: "unreachable";
  readonly status: number | null;
  /** The failure's code. */
  readonly reason: string;
  readonly failure: TierFailure;
  /** Bytes of the event were handed to a connection. */
  readonly isSent: boolean;
}

/** How the tier is reached. */
interface SendOptions {
  /** Base address, `https:`; `http:` serves benchmarks and tests. A path stands before the requests' own. */
  readonly url: string;
  /** Without them, `https:` trusts the system's authorities and shows no certificate. */
  readonly tls: TlsFiles | null;
  /** From the request's start, its wait for a connection included, to the end of its answer. */
  readonly timeoutMs: number;
  /** Requests beyond so many at once wait. */
  readonly connectionsMax: number;
  /** How often changed certificate files are looked for. Default: 10 s. */
  readonly filesCheckMs?: number;
  /** Within this time of the handshake's end, or as long again as it took, the tier refuses a client. Default: 50 ms. */
  readonly settleMs?: number;
  readonly observe: (observation: TlsObservation) => void;
}

// A tier that swallows what is sent to it is no wait of a whole answer's length.
const readyMs = 10_000;
// Renewed certificate files are noticed within this time.
const filesCheckMs = 10_000;

/**
 * Sends events to the actions tier, each with one request on a connection that is kept. Where this client shows a
 * certificate, nothing goes out on a new connection until the tier has had time to refuse it.
 *
 * Chosen: that wait, because the alert of a refusal is lost when something was written before it came (ECONNRESET on
 * both runtimes), and a tier may cut the connection without one. Rejected: asking for the tier's health first on each
 * connection, because whoever stands in for the tier need not have that page, and a tier that answers nothing at all
 * would never be sent an event.
 */
export class Sender {
  readonly #pool: ConnectionPool;
  readonly #target: Target;
  readonly #timeoutMs: number;
  /** What stands before and after the event's id in the head. */
  readonly #head: readonly [string, string];
  readonly #isSecure: boolean;
  readonly #stopWatching: () => void = () => {};

  constructor(options: SendOptions) {
    const { tls: files, connectionsMax, timeoutMs, settleMs = 50 } = options;
    const url = new URL(options.url);
    const path = url.pathname.replace(/\/$/, "");
    // HTTP/1.0 servers keep the connection only when they are asked to.
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
          // What was agreed on by the old files is not to outlive them.
          this.#pool.retire();
        }
        options.observe(observation);
      },
    });
  }

  /**
   * Sends one event and says what became of it; never throws, and never sends it twice. `unreachable` has the
   * error code as its reason: of the connection (`ECONNREFUSED`, `ETIMEDOUT`, `CERT_HAS_EXPIRED`, …), `EPROTO` for
   * an answer that is no HTTP, `EMSGSIZE` for one that does not end.
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

  /** Opens a connection, which the next event takes; `null`: it is open. Never throws. */
  async probe(timeoutMs: number): Promise<TierFailure | null> {
    const failed = await this.#pool.open(this.#target, timeoutMs);
    return failed === null ? null : tierFailure(failed, { isSecure: this.#isSecure });
  }

  /** Cuts the connections; what is under way is `unreachable`. */
  close(): void {
    this.#stopWatching();
    this.#pool.close();
  }
}

/**
 * Chosen: no session is resumed. Connections are kept, the tier lets none in by an earlier handshake, and a resumed one
 * would go on with a certificate that has been renewed since.
 */
function secureOptions(
  address: { readonly host: string; readonly port: number },
  files: TlsContext | null,
): tls.ConnectionOptions {
  const context = files ?? { minVersion: "TLSv1.2" as const };
  return {
    ...address,
    ...context,
    // Reads the files' text once instead of for each connection.
    secureContext: tls.createSecureContext(context),
    // An address is no name to ask for; it is verified all the same, against the certificate's addresses.
    servername: net.isIP(address.host) === 0 ? address.host : "",
    // Also where the environment says otherwise.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  };
}

// Node documents the option, and its types have forgotten it.
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

/** Seconds only: the tier is ours and sends no dates. At most a day, so that no answer can park a lead. */
function readRetryAfter(value: string | null): number {
  return value !== null && /^\d{1,9}$/.test(value) ? Math.min(Number(value), 86_400) * 1000 : 0;
}

/** The tier's error where it had no place to begin what is to be done: no attempt of the event. */
export const notBegun = "effects_not_begun";

/** The failed effects or the error code of the tier's answer, in words that hold no content. */
function refusalWord(text: string): string | null {
  try {
    const answer = JSON.parse(text) as { error?: unknown; effects?: Record<string, unknown> };
    const failed = Object.entries(answer.effects ?? {})
      .filter(([, state]) => typeof state === "string" && state.startsWith("failed"))
      .map(([effect, state]) => `${effect} ${state}`);
    const word = failed.length > 0 && answer.error !== notBegun ? failed.join("; ") : answer.error;
    // The store takes no NUL, and a log no line breaks.
    return typeof word === "string" ? word.replace(/\p{Cc}/gu, " ").slice(0, 200) : null;
  } catch {
    return null;
  }
}
