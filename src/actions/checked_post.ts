/** POSTs to URLs that tenants configured: over TLS, and only to permitted addresses. */

import { isIP, type OnReadOpts } from "node:net";
import tls from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { addressRefused, type Failed, type Stage } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type OutboundRequest } from "../http/outbound/connection_pool.ts";
import { mayStart } from "../http/outbound/fair_queue.ts";
import type { Response } from "../http/outbound/response_parser.ts";
import { DnsCache, type Resolve } from "./dns_cache.ts";
import { answerBytesMax, answerText, failed, failureWord, notBegun, type Outcome } from "./outcome.ts";

// Addresses that are not globally reachable, from IANA's special-purpose registries. IPv6 ranges that embed IPv4 (NAT64,
// 6to4, Teredo) are refused; on an IPv6-only network, allow your own prefix.
const notPublicV4 = parseNetworks(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
`);
const unicastV6 = parseNetworks("2000::/3");
const notPublicV6 = parseNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
// Contains IPv4-mapped IPv6 addresses too.
const allV4 = parseNetworks("0.0.0.0/0");

/**
 * Whether connections to an address are permitted. IPv4-mapped IPv6 counts as IPv4; an address with a zone is local.
 *
 * Chosen: any port, because nothing of a lead is sent before the server has presented a certificate for the name.
 */
export function mayCall(address: string, allowed: Networks): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  if (allowed.contains(address)) return true;
  if (allV4.contains(address)) return !notPublicV4.contains(address);
  return unicastV6.contains(address) && !notPublicV6.contains(address);
}

/** Options of {@linkcode CheckedPost}. */
export interface CheckedPostOptions {
  /** Permitted networks that are not public. */
  readonly allowedNetworks: Networks;
  /** From the name's resolution to the response's status. */
  readonly timeoutMs: number;
  readonly resolve: Resolve;
  /** Trusted authorities. Default: the runtime's. */
  readonly ca?: string;
}

/** A post. */
interface Posting {
  /** The tenant, because tenants share a host's connections. */
  readonly tenant: string;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How long to wait for the body's beginning after the status; it is only shown to operators. */
const answerWaitMs = 300;
const retryAfterSecondsMax = 86_400;

/**
 * Connections per host and port, shared fairly among tenants: a lone one gets half, so that its hanging requests block no
 * other. Chosen: the default number of concurrent deliveries, so that admitted ones do not wait again.
 */
export const connectionsPerHostMax = 128;
// Maximum age, so that a new handshake sees the current certificate.
const connectionAgeMaxMs = 60_000;

/** Options of webhook connections. */
interface WebhookPoolOptions {
  /** Whether an address is permitted; checked again once connected. */
  readonly mayCall: (address: string) => boolean;
  /** Trusted authorities. Default: the runtime's. */
  readonly ca?: string;
}

/** Creates the webhook pool. Receivers recognize repeats by `webhook-id`. */
export function openWebhookPool({ mayCall, ca }: WebhookPoolOptions): ConnectionPool {
  // Parses the authorities once instead of per connection.
  const secureContext = tls.createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
  });
  return new ConnectionPool({
    opened: "secureConnect",
    mayCall,
    ageMaxMs: connectionAgeMaxMs,
    repeatsLost: true,
    mayStart: (ofTenant, total) => mayStart(ofTenant, total, connectionsPerHostMax),
    connect: ({ hostname, port }, address, onread) => {
      const options: tls.ConnectionOptions & { onread: OnReadOpts } = {
        // The checked address: another lookup could return a different one.
        ...{ host: address, port, onread, secureContext },
        // SNI takes no IP address; the certificate is verified for it all the same.
        servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, "") : "",
        // Even if the environment disables it.
        rejectUnauthorized: true,
        ALPNProtocols: ["http/1.1"],
      };
      return tls.connect(options);
    },
  });
}

/** Posts JSON to URLs that tenants configured. */
export class CheckedPost {
  readonly #options: CheckedPostOptions;
  readonly #names: DnsCache;
  readonly #connections: ConnectionPool;

  constructor(options: CheckedPostOptions) {
    const { resolve, allowedNetworks, ca } = options;
    this.#options = options;
    this.#names = new DnsCache(resolve);
    this.#connections = openWebhookPool({
      mayCall: (address) => mayCall(address, allowedNetworks),
      ...(ca === undefined ? {} : { ca }),
    });
  }

  /**
   * Posts the body once, or again if a reused connection was closed; never throws. 2xx is done; any other status is a
   * failure, and redirects are not followed. Timeouts name their stage: `timeout_name`, `timeout_queue` (the tenant's share
   * of connections was in use), `timeout_connect`, `timeout_tls` or `timeout_answer`.
   */
  async send(address: string, posting: Posting): Promise<Outcome> {
    const endsAtMs = performance.now() + this.#options.timeoutMs;
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") {
      return failed("url_refused");
    }
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    let found: readonly string[] | null;
    try {
      found = await orLate(this.#names.find(hostname), this.#options.timeoutMs);
    } catch (error) {
      return failed(failureWord(error));
    }
    if (found === null) return failed("timeout_name");
    // Connections go only to these, whatever other addresses the name has.
    const addresses = found.filter((address) => mayCall(address, this.#options.allowedNetworks));
    if (addresses.length === 0) return failed("address_refused");
    const target = { hostname, port: url.port === "" ? 443 : Number(url.port), addresses };
    const timeoutMs = endsAtMs - performance.now();
    return await this.#post({ target, tenant: posting.tenant, text: requestText(url, posting), timeoutMs });
  }

  #post(request: OutboundRequest): Promise<Outcome> {
    return new Promise((settle) => {
      let heard: Response | null = null;
      let timer: ReturnType<typeof setTimeout> | undefined;
      // The status decides; a failing or endless body changes nothing.
      const tell = () => heard !== null && settle(outcomeOf(heard));
      const onPart = (soFar: Response, cut: () => void) => {
        heard = soFar;
        // The rest is not needed and would occupy a connection.
        timer ??= setTimeout(cut, answerWaitMs);
        if (soFar.body.length > answerBytesMax) tell();
      };
      this.#connections.send({ ...request, onPart }, (answer) => {
        clearTimeout(timer);
        if (answer.kind === "answered") settle(outcomeOf(answer.response));
        else if (heard !== null) tell();
        else settle(failed(reasonOf(answer)));
      });
    });
  }
}

/** `null` if it takes longer. */
function orLate<T>(promise: Promise<T>, timeoutMs: number): Promise<T | null> {
  return new Promise((settle, reject) => {
    const timer = setTimeout(settle, timeoutMs, null);
    promise.then(settle, reject).finally(() => clearTimeout(timer));
  });
}

function requestText(url: URL, { body, headers = {} }: Posting): string {
  const fields = {
    "Host": url.host,
    "Connection": "keep-alive",
    "User-Agent": "lead-intake-service",
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** The stage of a timeout. */
const lateWords = {
  waiting: notBegun,
  connecting: "timeout_connect",
  handshake: "timeout_tls",
  settling: "timeout_tls",
  sent: "timeout_answer",
} as const satisfies Record<Stage, string>;

function reasonOf({ reason, stage }: Failed): string {
  if (reason === "ETIMEDOUT") return lateWords[stage];
  if (reason === addressRefused) return "address_refused";
  // During the handshake the same code has another meaning.
  if (stage === "sent" && (reason === "EPROTO" || reason === "EMSGSIZE")) return "bad_response";
  return failureWord({ code: reason });
}

function outcomeOf({ head, body }: Response): Outcome {
  const { status } = head;
  const heard = { status, answer: answerText(body) };
  if (status >= 200 && status < 300) return { kind: "done", ...heard };
  const sentAtMs = Date.parse(head.date ?? "");
  return failed(`http_${status}`, retryAfter(head.retryAfter, sentAtMs), heard);
}

/** Seconds or a date, relative to the server's own `Date` if present. */
function retryAfter(value: string | null, sentAtMs: number): number | null {
  if (value === null) return null;
  const seconds = /^\s*\d{1,9}\s*$/.test(value)
    ? Number(value)
    : Math.ceil((Date.parse(value) - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs)) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 1), retryAfterSecondsMax);
}
