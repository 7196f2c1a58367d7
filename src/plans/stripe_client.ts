/** Opens Checkout Sessions through Stripe's API, with idempotent retries and a time limit. */

import { isObject, parseObject } from "../lead/json.ts";
import type { OpenSession, Sale } from "../store/serving/checkout.ts";
import http from "node:http";
import https from "node:https";

/**
 * The version of Stripe's API. Chosen: pinned, because the account's default may change.
 *
 * Source: github.com/stripe/stripe-node, src/apiVersion.ts, as of 2026-08-26.
 */
const stripeVersion = "2026-08-26.dahlia";

interface StripeOptions {
  /** An `https:` URL, or `http:` to this machine. */
  readonly apiUrl: string;
  readonly secretKey: string;
  /** The trusted CA certificates, instead of the system's. */
  readonly ca?: string | Uint8Array;
  readonly random: () => number;
  /** Returns the monotonic time in milliseconds. */
  readonly nowMs: () => number;
  readonly bounds?: Partial<StripeBounds>;
}

export interface StripeBounds {
  /** The time limit for one try, until the last byte of its response. */
  readonly tryMs: number;
  /** The time limit for all tries and waits; the buyer's request has 20 s. */
  readonly callMs: number;
  /** The first wait between tries, before jitter; each later wait is twice as long as the previous one. */
  readonly waitMs: number;
  /** The maximum wait, even if the provider requests a longer one. */
  readonly waitMaxMs: number;
  readonly triesMax: number;
}

/** The defaults. The waits are those of Stripe's own libraries. */
const stripeBounds: StripeBounds = {
  tryMs: 8_000,
  callMs: 14_000,
  waitMs: 500,
  waitMaxMs: 2_000,
  triesMax: 4,
};

/** A failed call. Every member may be logged. */
export interface StripeFailure {
  /** `null` without a response. */
  readonly status: number | null;
  /** Stripe's error type, such as `invalid_request_error`, or a connection error's code, such as `ECONNREFUSED`. */
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly stripeRequestId: string | null;
  readonly tries: number;
}

export type StripeResult =
  | { readonly kind: "done"; readonly body: Readonly<Record<string, unknown>>; readonly tries: number }
  /** A repeat with the same Idempotency-Key gets the same response. */
  | ({ readonly kind: "refused" } & StripeFailure)
  /** The effect is unknown, or Stripe refused for now; a repeat with the same Idempotency-Key may succeed. */
  | ({ readonly kind: "unanswered" } & StripeFailure);

interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const responseBytesMax = 512 * 1024;

export class StripeClient {
  readonly #options: StripeOptions;
  readonly #bounds: StripeBounds;
  readonly #agent: http.Agent | https.Agent;

  constructor(options: StripeOptions) {
    this.#options = options;
    this.#bounds = { ...stripeBounds, ...options.bounds };
    const isSecure = options.apiUrl.startsWith("https:");
    this.#agent = isSecure
      ? new https.Agent({
        keepAlive: true,
        ...(options.ca === undefined ? {} : { ca: options.ca as string }),
      })
      : new http.Agent({ keepAlive: true });
  }

  /** Posts a form, with the same `Idempotency-Key` in every try; never rejects. */
  async post(path: string, form: URLSearchParams, idempotencyKey: string): Promise<StripeResult> {
    const { nowMs } = this.#options;
    const { tryMs, callMs, triesMax } = this.#bounds;
    const endMs = nowMs() + callMs;
    for (let tries = 1;; tries += 1) {
      const request = { path, body: form.toString(), idempotencyKey };
      const outcome = await this.#try(request, Math.min(tryMs, endMs - nowMs()));
      const result = "status" in outcome ? readResponse(outcome, tries) : noResponse(outcome.error, tries);
      if (result.kind === "done" || tries === triesMax) return result;
      const retry = "status" in outcome ? shouldRetry(outcome) : true;
      const waitMs = this.#waitMs(tries, "status" in outcome ? outcome.headers["retry-after"] : undefined);
      // The next try must have time for a response.
      if (!retry || nowMs() + waitMs + this.#bounds.waitMs > endMs) return result;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  async #try(
    request: { path: string; body: string; idempotencyKey: string },
    timeoutMs: number,
  ): Promise<HttpResponse | { error: unknown }> {
    try {
      return await this.#exchange(request, timeoutMs);
    } catch (error) {
      return { error };
    }
  }

  #exchange(
    { path, body, idempotencyKey }: { path: string; body: string; idempotencyKey: string },
    timeoutMs: number,
  ): Promise<HttpResponse> {
    const { apiUrl, secretKey } = this.#options;
    const url = new URL(`${apiUrl}${path}`);
    return new Promise((resolve, reject) => {
      const request = (url.protocol === "https:" ? https : http).request(url, {
        method: "POST",
        agent: this.#agent,
        headers: {
          "Accept": "application/json",
          "Authorization": `Bearer ${secretKey}`,
          "Content-Type": "application/x-www-form-urlencoded",
          "Content-Length": String(body.length),
          "Idempotency-Key": idempotencyKey,
          "Stripe-Version": stripeVersion,
          "User-Agent": "lead-intake-service",
        },
      });
      const fail = (error: unknown) => {
        clearTimeout(timer);
        reject(error);
        request.destroy();
      };
      const timer = setTimeout(() => fail({ code: "ETIMEDOUT" }), Math.max(1, timeoutMs));
      request.on("error", fail);
      request.on("response", (response) => {
        const chunks: Uint8Array[] = [];
        let length = 0;
        response.on("error", fail);
        response.on("aborted", () => fail({ code: "ECONNRESET" }));
        response.on("data", (chunk: Uint8Array) => {
          length += chunk.byteLength;
          if (length > responseBytesMax) fail({ code: "ANSWER_TOO_LARGE" });
          else chunks.push(chunk);
        });
        response.on("end", () => {
          clearTimeout(timer);
          const text = new TextDecoder().decode(concat(chunks, length));
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      request.end(body);
    });
  }

  /** Returns the wait before the next try: exponential, half of it jitter, at least `Retry-After`, at most the maximum. */
  #waitMs(tries: number, retryAfter: string | undefined): number {
    const { waitMs, waitMaxMs } = this.#bounds;
    const grownMs = Math.min(waitMs * 2 ** (tries - 1), waitMaxMs);
    const retryAfterMs = /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) * 1000 : 0;
    return Math.min(waitMaxMs, Math.max(retryAfterMs, grownMs * (0.5 + 0.5 * this.#options.random())));
  }

  close(): void {
    this.#agent.destroy();
  }
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/** Returns whether to retry after a response. Source: Stripe, Advanced error handling, and Stripe's libraries. */
function shouldRetry({ status, headers }: HttpResponse): boolean {
  const advice = headers["stripe-should-retry"];
  if (advice === "true") return true;
  if (advice === "false") return false;
  return status === 409 || status === 429 || status >= 500;
}

function readResponse({ status, headers, text }: HttpResponse, tries: number): StripeResult {
  const body = parseObject(text, 64);
  // Redirects are not followed, because the request contains the secret key.
  if (status === 200 && body !== null) return { kind: "done", body, tries };
  const error = isObject(body?.error) ? body.error : {};
  const failure: StripeFailure = {
    status,
    type: loggableWord(error.type) ?? "unexpected_answer",
    code: loggableWord(error.code),
    param: loggableWord(error.param),
    stripeRequestId: loggableWord(headers["request-id"]),
    tries,
  };
  // Stripe stores no response for these two statuses, so the call may succeed later.
  const isRetryable = status === 409 || status === 429;
  return { kind: isRetryable ? "unanswered" : "refused", ...failure };
}

function noResponse(error: unknown, tries: number): StripeResult {
  const type = loggableWord((error as { code?: unknown } | null)?.code) ?? "connection";
  return { kind: "unanswered", status: null, type, code: null, param: null, stripeRequestId: null, tries };
}

/** Returns a value if it is one word or id; `null` for a sentence, which may quote the request and must not be logged. */
function loggableWord(value: unknown): string | null {
  return typeof value === "string" && /^[\w.[\]-]{1,100}$/.test(value) ? value : null;
}

export interface ReturnUrls {
  readonly successUrl: string;
  readonly cancelUrl: string;
}

export type SessionOutcome =
  | { readonly kind: "open"; readonly session: OpenSession & { readonly expiresAt: string | null } }
  | { readonly kind: "email_refused" }
  /** A repeat for the same sale gets the same response. */
  | { readonly kind: "refused"; readonly failure: StripeFailure }
  /** Stripe is unavailable, or refuses the secret key or the rate. If `isFinal`, a repeat for the same sale fails too. */
  | { readonly kind: "not_now"; readonly failure: StripeFailure; readonly isFinal: boolean };

/** Opens a Checkout Session in which the buyer with this email address pays for a sale. */
export async function openSession(
  client: StripeClient,
  sale: Sale,
  { email, urls }: { readonly email: string; readonly urls: ReturnUrls },
): Promise<SessionOutcome> {
  return toSessionOutcome(
    await client.post("/v1/checkout/sessions", sessionForm(sale, email, urls), sale.id),
  );
}

/** Builds the form that opens a session. Stripe repeats the metadata in its events. */
function sessionForm(sale: Sale, email: string, urls: ReturnUrls): URLSearchParams {
  const price = "line_items[0][price_data]";
  const form = new URLSearchParams({
    "mode": "subscription",
    "line_items[0][quantity]": "1",
    [`${price}[currency]`]: "usd",
    [`${price}[unit_amount]`]: String(sale.amountCents),
    [`${price}[recurring][interval]`]: sale.interval,
    [`${price}[product_data][name]`]: sale.planName,
    "customer_email": email,
    "client_reference_id": sale.id,
    "success_url": urls.successUrl,
    "cancel_url": urls.cancelUrl,
  });
  for (const object of ["metadata", "subscription_data[metadata]"]) {
    form.set(`${object}[plan]`, sale.planSlug);
    form.set(`${object}[checkout]`, sale.id);
  }
  // A free plan needs no card.
  if (sale.amountCents === 0) form.set("payment_method_collection", "if_required");
  return form;
}

function toSessionOutcome(result: StripeResult): SessionOutcome {
  if (result.kind === "done") return readSession(result.body, result.tries);
  const { kind, ...failure } = result;
  if (kind === "unanswered") return { kind: "not_now", failure, isFinal: false };
  if (failure.param === "customer_email" || failure.code === "email_invalid") {
    return { kind: "email_refused" };
  }
  const { status } = failure;
  // Stripe also stores its own failures, and returns the stored response to a repeat.
  if (status === 401 || status === 403 || (status ?? 0) >= 500) {
    return { kind: "not_now", failure, isFinal: true };
  }
  return { kind: "refused", failure };
}

function readSession(body: Readonly<Record<string, unknown>>, tries: number): SessionOutcome {
  const { id, url, expires_at: expires } = body;
  const isSession = typeof id === "string" && /^\w{1,255}$/.test(id) && typeof url === "string" &&
    isPayable(url);
  if (!isSession) {
    const failure = {
      status: 200,
      type: "no_session",
      code: null,
      param: null,
      stripeRequestId: null,
      tries,
    };
    return { kind: "refused", failure };
  }
  const expiresAt = typeof expires === "number" && expires > 0 && expires < 1e11
    ? new Date(expires * 1000).toISOString()
    : null;
  return { kind: "open", session: { sessionId: id, url, expiresAt } };
}

/** Returns whether buyers may be redirected to a URL. Chosen: https, and printable ASCII of bounded length. */
function isPayable(url: string): boolean {
  return /^[!-~]{1,5000}$/.test(url) && URL.canParse(url) && new URL(url).protocol === "https:";
}
