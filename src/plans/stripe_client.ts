/**
 * Opens Checkout Sessions with Stripe's API over HTTPS, with a pinned version, idempotent retries and a time limit.
 */

import { isObject, parseObject } from "../lead/json.ts";
import type { OpenSession, Sale } from "../store/serving/checkout.ts";
import http from "node:http";
import https from "node:https";

/**
 * The version of Stripe's API. Chosen: pinned, because the account's default may change. Source:
 * github.com/stripe/stripe-node, src/apiVersion.ts, as of 2026-08-26.
 */
export const stripeVersion = "2026-08-26.dahlia";

interface StripeOptions {
  /** https, or http to this machine. */
  readonly apiUrl: string;
  readonly secretKey: string;
  /** Authorities to trust instead of the system's. */
  readonly ca?: string | Uint8Array;
  readonly random: () => number;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  readonly bounds?: Partial<StripeBounds>;
}

/** The bounds of a call, in milliseconds. */
export interface StripeBounds {
  /** One try, from its start to the last byte of its answer. */
  readonly tryMs: number;
  /** The whole call with its waits; the buyer's request has 20 s. */
  readonly callMs: number;
  /** The first wait between tries, doubled after each. */
  readonly waitMs: number;
  /** The longest wait, even if the provider asks for more. */
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

/** A failure; every member may be logged. */
export interface StripeFailure {
  /** `null` when there was no answer. */
  readonly status: number | null;
  /** `invalid_request_error`, or a connection error such as `ECONNREFUSED`. */
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly stripeRequestId: string | null;
  readonly tries: number;
}

export type StripeAnswer =
  | { readonly kind: "done"; readonly body: Readonly<Record<string, unknown>>; readonly tries: number }
  /** Final: the same call under the same key gets the same answer. */
  | ({ readonly kind: "refused" } & StripeFailure)
  /** The effect is unknown; the same call under the same key finds out. */
  | ({ readonly kind: "unanswered" } & StripeFailure);

interface HttpAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const answerBytesMax = 512 * 1024;

/** A client that keeps its connections. */
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

  /** Posts a form, every try with the same `Idempotency-Key`. Never throws. */
  async post(path: string, form: URLSearchParams, idempotencyKey: string): Promise<StripeAnswer> {
    const { nowMs } = this.#options;
    const { tryMs, callMs, triesMax } = this.#bounds;
    const endMs = nowMs() + callMs;
    for (let tries = 1;; tries += 1) {
      const request = { path, body: form.toString(), idempotencyKey };
      const outcome = await this.#try(request, Math.min(tryMs, endMs - nowMs()));
      const answer = "status" in outcome ? readAnswer(outcome, tries) : unanswered(outcome.error, tries);
      if (answer.kind === "done" || tries === triesMax) return answer;
      const retry = "status" in outcome ? shouldRetry(outcome) : true;
      const waitMs = this.#waitMs(tries, "status" in outcome ? outcome.headers["retry-after"] : undefined);
      // Skips a try that would have no time for an answer.
      if (!retry || nowMs() + waitMs + this.#bounds.waitMs > endMs) return answer;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  async #try(
    request: { path: string; body: string; idempotencyKey: string },
    timeoutMs: number,
  ): Promise<HttpAnswer | { error: unknown }> {
    try {
      return await this.#exchange(request, timeoutMs);
    } catch (error) {
      return { error };
    }
  }

  #exchange(
    { path, body, idempotencyKey }: { path: string; body: string; idempotencyKey: string },
    timeoutMs: number,
  ): Promise<HttpAnswer> {
    const { apiUrl, secretKey } = this.#options;
    const url = new URL(`${apiUrl}${path}`);
    return new Promise((settle, reject) => {
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
          if (length > answerBytesMax) fail({ code: "ANSWER_TOO_LARGE" });
          else chunks.push(chunk);
        });
        response.on("end", () => {
          clearTimeout(timer);
          const text = new TextDecoder().decode(concat(chunks, length));
          settle({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      request.end(body);
    });
  }

  /** Exponential, half of it jitter, and at least what the provider asks for, up to the maximum. */
  #waitMs(tries: number, retryAfter: string | undefined): number {
    const { waitMs, waitMaxMs } = this.#bounds;
    const grownMs = Math.min(waitMs * 2 ** (tries - 1), waitMaxMs);
    const askedMs = /^\d{1,3}$/.test(retryAfter ?? "") ? Number(retryAfter) * 1000 : 0;
    return Math.min(waitMaxMs, Math.max(askedMs, grownMs * (0.5 + 0.5 * this.#options.random())));
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

/** Source: Stripe, Advanced error handling, and its libraries. */
function shouldRetry({ status, headers }: HttpAnswer): boolean {
  const asked = headers["stripe-should-retry"];
  if (asked === "true") return true;
  if (asked === "false") return false;
  return status === 409 || status === 429 || status >= 500;
}

function readAnswer(answer: HttpAnswer, tries: number): StripeAnswer {
  const { status, headers } = answer;
  const body = parseObject(answer.text, 64);
  // Redirects are not followed: the secret key would go along.
  if (status === 200 && body !== null) return { kind: "done", body, tries };
  const error = isObject(body?.error) ? body.error : {};
  const failure: StripeFailure = {
    status,
    type: word(error.type) ?? "unexpected_answer",
    code: word(error.code),
    param: word(error.param),
    stripeRequestId: word(headers["request-id"]),
    tries,
  };
  // Stripe stores nothing under the key for these two, so the call may succeed later.
  const isOpen = status === 409 || status === 429;
  return { kind: isOpen ? "unanswered" : "refused", ...failure };
}

function unanswered(error: unknown, tries: number): StripeAnswer {
  const type = word((error as { code?: unknown } | null)?.code) ?? "connection";
  return { kind: "unanswered", status: null, type, code: null, param: null, stripeRequestId: null, tries };
}

/** Words and ids may be logged; sentences may quote the request. */
function word(value: unknown): string | null {
  return typeof value === "string" && /^[\w.[\]-]{1,100}$/.test(value) ? value : null;
}

export interface ReturnUrls {
  readonly successUrl: string;
  readonly cancelUrl: string;
}

export type SessionOutcome =
  | { readonly kind: "open"; readonly session: OpenSession & { readonly expiresAt: string | null } }
  /** Stripe refuses the address. */
  | { readonly kind: "email_refused" }
  /** A repeat under the same id gets the same answer. */
  | { readonly kind: "refused"; readonly failure: StripeFailure }
  /** Stripe refuses our key or rate; the buyer cannot help it. */
  | { readonly kind: "not_now"; readonly failure: StripeFailure; readonly isFinal: boolean };

/** Opens a session in which `email` pays for a sale. */
export async function openSession(
  client: StripeClient,
  sale: Sale,
  { email, urls }: { readonly email: string; readonly urls: ReturnUrls },
): Promise<SessionOutcome> {
  const answer = await client.post("/v1/checkout/sessions", sessionForm(sale, email, urls), sale.id);
  return outcomeOf(answer);
}

/** The form of a session. Price and plan come from the sale; its id returns with Stripe's events. */
export function sessionForm(sale: Sale, email: string, urls: ReturnUrls): URLSearchParams {
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

function outcomeOf(answer: StripeAnswer): SessionOutcome {
  if (answer.kind === "done") return readSession(answer.body, answer.tries);
  const { kind, ...failure } = answer;
  if (kind === "unanswered") return { kind: "not_now", failure, isFinal: false };
  if (failure.param === "customer_email" || failure.code === "email_invalid") {
    return { kind: "email_refused" };
  }
  const { status } = failure;
  // Stripe stores its own faults under the key too and would repeat them.
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

/** Buyers pay at this address. Chosen: printable ASCII of bounded length. */
function isPayable(url: string): boolean {
  return /^[!-~]{1,5000}$/.test(url) && URL.canParse(url) && new URL(url).protocol === "https:";
}
