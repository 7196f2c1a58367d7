/**
 * One POST to an address that a tenant has given: over TLS, to where requests may go and nowhere else.
 *
 * @module
 */

import { isIP, type OnReadOpts } from "node:net";
import tls from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { addressRefused, type Failed, type Stage } from "../http/outbound/client_connection.ts";
import { ConnectionPool, type OutboundRequest } from "../http/outbound/connection_pool.ts";
import { mayStart } from "../http/outbound/fair_queue.ts";
import type { Response } from "../http/outbound/response_parser.ts";
import { DnsCache, type Resolve } from "./dns_cache.ts";
import { answerBytesMax, answerText, failed, failureWord, notBegun, type Outcome } from "./outcome.ts";

// What is not globally reachable unicast, after IANA's registries of special-purpose addresses. What carries an
// IPv4 address inside (NAT64, 6to4, Teredo) is refused whole, whatever it carries: the operator of an IPv6-only
// network allows his own prefix.
const notPublicV4 = parseNetworks(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
`);
const unicastV6 = parseNetworks("2000::/3");
const notPublicV6 = parseNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
// IPv4-mapped IPv6 addresses are in it too: they are IPv4 addresses.
const allV4 = parseNetworks("0.0.0.0/0");

/**
 * Whether an address may be connected to. IPv4-mapped IPv6 counts as the IPv4 address that it is; an address
 * with a zone is a local one.
 *
 * Chosen: any port, because the connection sends nothing of a lead before the other side has shown a certificate
 * for the name.
 */
export function mayCall(address: string, allowed: Networks): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  if (allowed.contains(address)) return true;
  if (allV4.contains(address)) return !notPublicV4.contains(address);
  return unicastV6.contains(address) && !notPublicV6.contains(address);
}

/** How requests are sent. */
export interface CheckedPostOptions {
  /** Networks that may be called although they are not public. */
  readonly allowedNetworks: Networks;
  /** From the look-up of the name to the status of the answer. */
  readonly timeoutMs: number;
  readonly resolve: Resolve;
  /** Certificate authorities to trust; left out: the runtime's. */
  readonly ca?: string;
}

/** What is posted. */
interface Posting {
  /** Whose it is: connections to a host are shared among tenants. */
  readonly tenant: string;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * How long the outcome waits for the body's beginning, once the status is there. It mostly comes with it, and is only
 * for people to read: a server that has decided, and is slow to say more, holds up no effect.
 */
const answerWaitMs = 300;
const retryAfterSecondsMax = 86_400;

/**
 * Connections to one host name and port, and so requests in flight to it. Tenants share them as they share the deliveries
 * at once: one that is alone at the host gets half, and what hangs of one keeps no other waiting that is at the same host.
 *
 * Chosen: as many as there are deliveries at once by default, so that what the deliveries' shares have let through does
 * not wait here again.
 */
export const connectionsPerHostMax = 128;
// Kept however busy it is: after this time the handshake is made again, with the certificate of that day.
const connectionAgeMaxMs = 60_000;

/** How webhooks' connections are made. */
interface WebhookPoolOptions {
  /** Whether an address may be connected to; asked again when the connection is there. */
  readonly mayCall: (address: string) => boolean;
  /** Certificate authorities to trust; left out: the runtime's. */
  readonly ca?: string;
}

/** The connections to the hosts of webhooks. A repeat is known there by its `webhook-id`. */
export function openWebhookPool({ mayCall, ca }: WebhookPoolOptions): ConnectionPool {
  // Reads the authorities once instead of for each connection.
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
        // The address that was checked: no look-up, which could give another one.
        ...{ host: address, port, onread, secureContext },
        // The certificate is for the name; an address is no name to ask for, and verified all the same.
        servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, "") : "",
        // Also where the environment says otherwise.
        rejectUnauthorized: true,
        ALPNProtocols: ["http/1.1"],
      };
      return tls.connect(options);
    },
  });
}

/** Sends JSON to addresses that tenants have given. */
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
   * Posts the body; never throws. Any 2xx is done, every other answer a failure with its status; nothing is followed. Once,
   * except where a kept connection was closed under it. When the time is over, the reason says what it went to:
   * `timeout_name`, `timeout_queue` (the tenant had its share of connections to the host, and nothing was begun),
   * `timeout_connect`, `timeout_tls` or `timeout_answer`.
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
    // The connection goes to these alone, so it does not matter what else the name's owner has put beside them.
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
      // The head decides; what fails behind it, or does not end, changes nothing.
      const tell = () => heard !== null && settle(outcomeOf(heard));
      const onPart = (soFar: Response, cut: () => void) => {
        heard = soFar;
        // The rest is for nobody, and would hold a place that others wait for.
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

/** `null` when it takes longer. */
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

/** What the time went to. */
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
  // Of the handshake the same code would mean something else.
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

/** Seconds or a date; the date is read against the sender's own clock where he tells it. */
function retryAfter(value: string | null, sentAtMs: number): number | null {
  if (value === null) return null;
  const seconds = /^\s*\d{1,9}\s*$/.test(value)
    ? Number(value)
    : Math.ceil((Date.parse(value) - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs)) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 1), retryAfterSecondsMax);
}
