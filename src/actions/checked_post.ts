/** Posts to the URLs in tenants' routes, over TLS and only to permitted addresses. */

import { isIP, type OnReadOpts } from "node:net";
import tls from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { addressRefused, type Failed, type Stage } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type OutboundRequest, type Target } from "../http/outbound/connection_pool.ts";
import { mayStart } from "../http/outbound/fair_queue.ts";
import { headerFields, type Response, storedBytesMax } from "../http/outbound/response_parser.ts";
import { withFallback } from "../store/wait.ts";
import { DnsCache, type Resolve } from "./dns_cache.ts";
import {
  type Failed as FailedOutcome,
  failed,
  failureReason,
  type Outcome,
  queueTimeout,
  responseText,
  responseTextBytesMax,
} from "./outcome.ts";
import { responseHeaders } from "./response_headers.ts";

// Addresses that are not globally reachable, from IANA's special-purpose registries. IPv6 ranges that embed IPv4
// (NAT64, 6to4, Teredo) are refused; on an IPv6-only network, allow its NAT64 prefix.
const privateV4 = parseNetworks(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
`);
const unicastV6 = parseNetworks("2000::/3");
const privateV6 = parseNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
// Also contains IPv4-mapped IPv6 addresses.
const allV4 = parseNetworks("0.0.0.0/0");

/**
 * Whether connections to an address are permitted. An address with a zone is link-local and therefore refused.
 *
 * Chosen: any port, because no part of a lead is sent before the server has presented a certificate for the name.
 */
export function isPermittedAddress(address: string, allowed: Networks): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  if (allowed.contains(address)) return true;
  if (allV4.contains(address)) return !privateV4.contains(address);
  return unicastV6.contains(address) && !privateV6.contains(address);
}

export interface CheckedPostOptions {
  /** The non-public networks that webhooks may call. */
  readonly allowedNetworks: Networks;
  /** The time limit from the start of name resolution to the end of the response head. */
  readonly timeoutMs: number;
  readonly resolve: Resolve;
  /** The trusted CA certificates, in PEM. Default: the runtime's. */
  readonly ca?: string;
}

interface PostRequest {
  /** The tenant's slug; tenants share the connections to a host fairly. */
  readonly tenant: string;
  /** The JSON body. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request of any method; `headers` has `Content-Type` if there is a body. */
export interface CheckedRequest {
  readonly tenant: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** How long to wait for the response's body after its head; only operators see the body. */
const bodyWaitMs = 300;
const retryAfterSecondsMax = 86_400;

/**
 * The maximum number of connections per host and port. A single tenant may use half, so that its hanging requests
 * block no other tenant. Chosen: the default number of concurrent deliveries.
 */
export const connectionsPerHostMax = 128;
// Limited, because only a new handshake verifies the host's current certificate.
const connectionAgeMaxMs = 60_000;

interface WebhookPoolOptions {
  /** Whether an address may be called; receives the remote address of each new connection. */
  readonly mayCall: (address: string) => boolean;
  /** The trusted CA certificates, in PEM. Default: the runtime's. */
  readonly ca?: string;
}

export function openWebhookPool({ mayCall, ca }: WebhookPoolOptions): ConnectionPool {
  // Parses the CA certificates once instead of per connection.
  const secureContext = tls.createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
  });
  return new ConnectionPool({
    readyEvent: "secureConnect",
    isAllowed: mayCall,
    ageMaxMs: connectionAgeMaxMs,
    // Webhook receivers recognize repeats by `webhook-id`; for Slack, a repeat is better than a lost message.
    retriesLostRequests: true,
    mayStart: (inFlight, total) => mayStart(inFlight, total, connectionsPerHostMax),
    connect: ({ hostname, port }, address, onread) => {
      const options: tls.ConnectionOptions & { onread: OnReadOpts } = {
        // Connects to the checked address, because another lookup could return a different one.
        host: address,
        port,
        onread,
        secureContext,
        // SNI does not accept IP addresses; the certificate's IP addresses are still verified.
        servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, "") : "",
        // Overrides an environment that disables verification.
        rejectUnauthorized: true,
        ALPNProtocols: ["http/1.1"],
      };
      return tls.connect(options);
    },
  });
}

export class CheckedPost {
  readonly #options: CheckedPostOptions;
  readonly #dnsCache: DnsCache;
  readonly #connections: ConnectionPool;

  constructor(options: CheckedPostOptions) {
    const { resolve, allowedNetworks, ca } = options;
    this.#options = options;
    this.#dnsCache = new DnsCache(resolve);
    this.#connections = openWebhookPool({
      mayCall: (address) => isPermittedAddress(address, allowedNetworks),
      ...(ca === undefined ? {} : { ca }),
    });
  }

  /**
   * Posts the body, and repeats the post if a reused connection fails before any byte of the response; never rejects. Any
   * status other than 2xx is a failure, and redirects are not followed. A timeout's reason names its stage: `timeout_name`,
   * `timeout_queue` (the tenant got no connection to the host), `timeout_connect`, `timeout_tls` or `timeout_answer`.
   */
  async send(address: string, { tenant, body, headers }: PostRequest): Promise<Outcome> {
    const target = await this.#resolve(address);
    if ("kind" in target) return target;
    const request = {
      tenant,
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    };
    const response = await new Promise<Response | Failed>((resolve) => {
      let partialResponse: Response | null = null;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const onPartial = (partial: Response, abort: () => void) => {
        partialResponse = partial;
        // The rest of the body is not needed and would occupy a connection.
        timer ??= setTimeout(abort, bodyWaitMs);
        if (partial.body.length > responseTextBytesMax) resolve(partial);
      };
      this.#connections.send({ ...this.#outbound(target, request), onPartial }, (result) => {
        clearTimeout(timer);
        // Once the status is known, an incomplete body does not change the outcome.
        resolve(result.kind === "response" ? result.response : partialResponse ?? result);
      });
    });
    return "kind" in response ? failed(connectionFailureReason(response)) : responseOutcome(response);
  }

  /**
   * Sends a request once and returns the response with the first 64 KiB of its body, or a failure with the reasons of
   * {@linkcode CheckedPost.send}; never rejects.
   */
  async request(address: string, request: CheckedRequest): Promise<Response | FailedOutcome> {
    const target = await this.#resolve(address);
    if ("kind" in target) return target;
    const response = await new Promise<Response | Failed>((resolve) => {
      const onPartial = (partial: Response, abort: () => void) => {
        if (partial.body.length < storedBytesMax) return;
        resolve(partial);
        abort();
      };
      // The request may have been read, and a CRM may not recognize a repeat.
      const outbound = { ...this.#outbound(target, request), onPartial, isRetriedIfLost: false };
      this.#connections.send(
        outbound,
        (result) => resolve(result.kind === "response" ? result.response : result),
      );
    });
    return "kind" in response ? failed(connectionFailureReason(response)) : response;
  }

  /** Resolves an address to the permitted addresses of its host. */
  async #resolve(address: string): Promise<CheckedTarget | FailedOutcome> {
    const endsAtMs = performance.now() + this.#options.timeoutMs;
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") {
      return failed("url_refused");
    }
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    let resolved: readonly string[] | null;
    try {
      const lookup = this.#dnsCache.lookup(hostname);
      resolved = await withFallback(lookup, { fallback: null, afterMs: this.#options.timeoutMs });
    } catch (error) {
      return failed(failureReason(error));
    }
    if (resolved === null) return failed("timeout_name");
    const addresses = resolved.filter((address) =>
      isPermittedAddress(address, this.#options.allowedNetworks)
    );
    if (addresses.length === 0) return failed("address_refused");
    return { url, endsAtMs, target: { hostname, port: url.port === "" ? 443 : Number(url.port), addresses } };
  }

  #outbound({ url, endsAtMs, target }: CheckedTarget, request: CheckedRequest): OutboundRequest {
    const timeoutMs = endsAtMs - performance.now();
    return { target, tenant: request.tenant, text: requestText(url, request), timeoutMs };
  }
}

interface CheckedTarget {
  readonly url: URL;
  /** When the request's time is over. */
  readonly endsAtMs: number;
  readonly target: Target;
}

function requestText(url: URL, { method, body, headers }: CheckedRequest): string {
  const fields = {
    "Host": url.host,
    "Connection": "keep-alive",
    "User-Agent": "lead-intake-service",
    ...(body === null ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`;
}

const timeoutReasons = {
  waiting: queueTimeout,
  connecting: "timeout_connect",
  handshake: "timeout_tls",
  settling: "timeout_tls",
  sent: "timeout_answer",
} as const satisfies Record<Stage, string>;

function connectionFailureReason({ reason, stage }: Failed): string {
  if (reason === "ETIMEDOUT") return timeoutReasons[stage];
  if (reason === addressRefused) return "address_refused";
  // During the handshake these codes mean a TLS failure.
  if (stage === "sent" && (reason === "EPROTO" || reason === "EMSGSIZE")) return "bad_response";
  return failureReason({ code: reason });
}

function responseOutcome({ head, body }: Response): Outcome {
  const { status } = head;
  const received = { status, answer: responseText(body), headers: responseHeaders(headerFields(head)) };
  if (status >= 200 && status < 300) return { kind: "done", ...received };
  return failed(`http_${status}`, retryAfterSeconds(head), received);
}

/** Parses `Retry-After`: seconds, or a date relative to the response's `Date`, or to now if that is missing or invalid. */
export function retryAfterSeconds({ retryAfter: value, date }: Response["head"]): number | null {
  if (value === null) return null;
  const sentAtMs = parseDate(date ?? "");
  const seconds = /^\s*\d+\s*$/.test(value)
    ? Number(value)
    : Math.ceil((parseDate(value) - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs)) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 1), retryAfterSecondsMax);
}

/** Parses a date of HTTP, also in an obsolete format, or of ISO 8601; `Date.parse` alone also accepts `-1` and `soon 5`. */
function parseDate(text: string): number {
  const isDate = /^\s*(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)|\d{4}-\d\d-\d\d).*\d\d:\d\d:\d\d/.test(text);
  return isDate ? Date.parse(text) : NaN;
}
