/**
 * The CRM effect: one signed POST to the tenant's address, as the Standard Webhooks specification says.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { IncomingMessage, RequestOptions } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Networks } from "../http/addresses.ts";
import type { CrmRoute } from "../store/delivery/effects.ts";
import { mayCall } from "./addresses.ts";
import { contentName, type DeliveredEvent } from "./event.ts";
import { failed, failureWord, type Outcome } from "./outcome.ts";
import type { Resolve } from "./resolve.ts";

/** How webhooks are sent. */
export interface WebhookOptions {
  /** Networks that may be called although they are not public. */
  readonly allowedNetworks: Networks;
  /** From the look-up of the name to the status of the answer. */
  readonly timeoutMs: number;
  readonly resolve: Resolve;
  /** Certificate authorities to trust; left out: the runtime's. */
  readonly ca?: string;
}

// The status decides; of the body only so much is taken, that the other side can write its answer in peace.
const answerBytesMax = 64 * 1024;
// Time for a connection to one of several addresses before the next one is tried as well.
const addressTimeoutMs = 2_500;
const retryAfterSecondsMax = 86_400;

/** Sends webhooks. */
export class CrmWebhook {
  readonly #options: WebhookOptions;
  /**
   * Chosen: a connection for each call, because one that is kept was checked long ago and may be closed under a
   * request, whose outcome then nobody knows.
   */
  readonly #agent: Agent;

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#agent = new Agent({
      keepAlive: false,
      minVersion: "TLSv1.2",
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
  }

  /** Posts the event to the route's address; never throws. `nowMs` is the wall clock's time. */
  async send(event: DeliveredEvent, route: CrmRoute, nowMs: number): Promise<Outcome> {
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    const late = new Promise<Outcome>((settle) => {
      deadline.addEventListener("abort", () => settle(failed("timeout")), { once: true });
    });
    const attempt = this.#attempt(event, route, { nowMs, deadline });
    return await Promise.race([late, attempt.catch((error) => failed(failureWord(error)))]);
  }

  async #attempt(
    event: DeliveredEvent,
    route: CrmRoute,
    { nowMs, deadline }: { nowMs: number; deadline: AbortSignal },
  ): Promise<Outcome> {
    const url = URL.canParse(route.url) ? new URL(route.url) : null;
    if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") {
      return failed("url_refused");
    }
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const found = await this.#options.resolve(hostname);
    // The connection goes to these alone, so it does not matter what else the name's owner has put beside them.
    const addresses = found.filter((address) => mayCall(address, this.#options.allowedNetworks));
    if (addresses.length === 0) return failed(found.length === 0 ? "dns_not_found" : "address_refused");
    const body = webhookBody(event);
    return await this.#post(url, { hostname, addresses, body, deadline }, {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(body)),
      "User-Agent": "lead-intake-service",
      ...signatureHeaders(event.eventId, body, route.secrets, nowMs),
    });
  }

  #post(
    url: URL,
    target: {
      readonly hostname: string;
      readonly addresses: readonly string[];
      readonly body: string;
      readonly deadline: AbortSignal;
    },
    headers: Readonly<Record<string, string>>,
  ): Promise<Outcome> {
    return new Promise((settle) => {
      const options: RequestOptions & { autoSelectFamilyAttemptTimeout: number } = {
        method: "POST",
        host: target.hostname,
        port: url.port === "" ? 443 : Number(url.port),
        path: url.pathname + url.search,
        headers: { Host: url.host, ...headers },
        agent: this.#agent,
        // No second look-up: it could give another answer than the one that was checked.
        lookup: pinnedLookup(target.addresses),
        autoSelectFamilyAttemptTimeout: addressTimeoutMs,
      };
      const request = httpsRequest(options);
      const abort = () => request.destroy();
      target.deadline.addEventListener("abort", abort, { once: true });
      request.on("close", () => target.deadline.removeEventListener("abort", abort));
      request.on("socket", (socket) => {
        // Whatever the runtime has made of the pinned look-up: no byte of the event goes anywhere else.
        socket.once("connect", () => {
          const peer = socket.remoteAddress ?? "";
          if (mayCall(peer, this.#options.allowedNetworks)) return;
          settle(failed("address_refused"));
          request.destroy();
        });
      });
      request.on("error", (error) => settle(failed(failureWord(error))));
      // Redirects are answers like any other: nothing is followed.
      request.on("response", (response) => {
        settle(judge(response));
        discard(response, target.deadline);
      });
      request.on("upgrade", (_response, socket) => {
        socket.destroy();
        settle(failed("http_101"));
      });
      // After every other event; it settles what none of them has.
      request.on("close", () => settle(failed("connection_closed")));
      request.end(target.body);
    });
  }
}

/**
 * The body of the webhook. The same event has the same bytes at every attempt.
 *
 * Source: DECISIONS, Delivery (CRM route).
 */
export function webhookBody(event: DeliveredEvent): string {
  const type = event.kind === "lead" ? "lead.accepted" : "form.submitted";
  const text = (value: unknown) => JSON.stringify(value);
  return `{"type":"${type}","timestamp":${text(event.receivedAt)},"data":{` +
    `"event_id":${text(event.eventId)},"tenant":${text(event.tenant)},"source":${text(event.source)},` +
    `"received_at":${text(event.receivedAt)},"${contentName(event.kind)}":${event.content},` +
    `"extra":${event.extra},"flags":${text(event.flags)}}}`;
}

/**
 * The three headers of a signed webhook. There is a signature for each secret, so that a receiver that is between
 * two of them verifies with either.
 *
 * Source: Standard Webhooks, Signature scheme.
 */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const [first] = found;
    if (options.all === true) callback(null, found);
    else callback(null, first?.address as string, first?.family as number);
  };
}

function judge(response: IncomingMessage): Outcome {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return { kind: "done" };
  return failed(
    `http_${status}`,
    retryAfter(response.headers["retry-after"], Date.parse(response.headers.date ?? "")),
  );
}

/** Seconds or a date; the date is read against the sender's own clock where he tells it. */
function retryAfter(value: string | undefined, sentAtMs: number): number | null {
  if (value === undefined) return null;
  const seconds = /^\s*\d{1,9}\s*$/.test(value)
    ? Number(value)
    : Math.ceil((Date.parse(value) - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs)) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 1), retryAfterSecondsMax);
}

function discard(response: IncomingMessage, deadline: AbortSignal): void {
  let bytes = 0;
  const stop = () => response.destroy();
  deadline.addEventListener("abort", stop, { once: true });
  response.on("close", () => deadline.removeEventListener("abort", stop));
  response.on("error", () => {});
  response.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > answerBytesMax) stop();
  });
}
