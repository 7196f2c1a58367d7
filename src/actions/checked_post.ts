/**
 * One POST to an address that a tenant has given: over TLS, to where requests may go and nowhere else.
 *
 * @module
 */

import type { IncomingMessage, RequestOptions } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Networks } from "../http/addresses.ts";
import { mayCall } from "./addresses.ts";
import { answerBytesMax, answerText } from "./answer.ts";
import { failed, failureWord, type Outcome } from "./outcome.ts";
import type { Resolve } from "./resolve.ts";

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

// The status decides; of the body only so much is taken, that the other side can write its answer in peace.
const bodyBytesMax = 64 * 1024;
/**
 * How long the outcome waits for the body's beginning, once the status is there. It mostly comes with it, and is only
 * for people to read: a server that has decided, and is slow to say more, holds up no effect.
 */
const answerWaitMs = 300;
// Time for a connection to one of several addresses before the next one is tried as well.
const addressTimeoutMs = 2_500;
const retryAfterSecondsMax = 86_400;

/** Sends JSON to addresses that tenants have given. */
export class CheckedPost {
  readonly #options: CheckedPostOptions;
  /**
   * Chosen: a connection for each call, because one that is kept was checked long ago and may be closed under a
   * request, whose outcome then nobody knows.
   */
  readonly #agent: Agent;

  constructor(options: CheckedPostOptions) {
    this.#options = options;
    this.#agent = new Agent({
      keepAlive: false,
      minVersion: "TLSv1.2",
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
  }

  /** Posts the body once; never throws. Any 2xx is done, every other answer a failure with its status. */
  async send(
    address: string,
    body: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Outcome> {
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    const late = new Promise<Outcome>((settle) => {
      deadline.addEventListener("abort", () => settle(failed("timeout")), { once: true });
    });
    const attempt = this.#attempt(address, { body, headers, deadline });
    return await Promise.race([late, attempt.catch((error) => failed(failureWord(error)))]);
  }

  async #attempt(
    address: string,
    { body, headers, deadline }: {
      readonly body: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly deadline: AbortSignal;
    },
  ): Promise<Outcome> {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") {
      return failed("url_refused");
    }
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const found = await this.#options.resolve(hostname);
    // The connection goes to these alone, so it does not matter what else the name's owner has put beside them.
    const addresses = found.filter((address) => mayCall(address, this.#options.allowedNetworks));
    if (addresses.length === 0) return failed(found.length === 0 ? "dns_not_found" : "address_refused");
    return await this.#post(url, { hostname, addresses, body, deadline }, {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(body)),
      "User-Agent": "lead-intake-service",
      ...headers,
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
        readAnswer(response, target.deadline, (answer) => settle(outcomeOf(response, answer)));
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

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const [first] = found;
    if (options.all === true) callback(null, found);
    else callback(null, first?.address as string, first?.family as number);
  };
}

function outcomeOf(response: IncomingMessage, answer: string): Outcome {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return { kind: "done", status, answer };
  return failed(
    `http_${status}`,
    retryAfter(response.headers["retry-after"], Date.parse(response.headers.date ?? "")),
    { status, answer },
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

/** Calls back once, with the body's beginning or what of it has come in time; the rest is read and thrown away. */
function readAnswer(
  response: IncomingMessage,
  deadline: AbortSignal,
  settle: (answer: string) => void,
): void {
  let kept = Buffer.alloc(0);
  let bytes = 0;
  const finish = () => settle(answerText(kept));
  const timer = setTimeout(finish, answerWaitMs);
  const stop = () => response.destroy();
  deadline.addEventListener("abort", stop, { once: true });
  response.on("close", () => {
    deadline.removeEventListener("abort", stop);
    clearTimeout(timer);
    finish();
  });
  response.on("end", finish);
  response.on("error", () => {});
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    // A byte more than is told, which says that there is more.
    if (kept.length <= answerBytesMax) {
      kept = Buffer.concat([kept, chunk.subarray(0, answerBytesMax + 1 - kept.length)]);
      if (kept.length > answerBytesMax) finish();
    }
    if (bytes > bodyBytesMax) stop();
  });
}
