/**
 * A server that responds to `POST /v1/checkout/sessions` as Stripe's documentation describes: authentication,
 * versions, parameter errors, idempotency with replays and conflicts. It can be told to fail.
 *
 * Source: Stripe API reference (Create a Checkout Session, Errors, Idempotent requests); Advanced error handling.
 */

import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { listen } from "../listen.ts";

/** A received request. */
export interface StripeCall {
  readonly headers: http.IncomingHttpHeaders;
  readonly path: string;
  /** Decoded from the form. */
  readonly form: Readonly<Record<string, string>>;
  /** The status of the response; `null` when the connection was cut or left hanging. */
  status: number | null;
}

/** Replaces the next response. */
export type Fault =
  /** Before execution: nothing is stored under the key. */
  | {
    readonly kind: "answer";
    readonly status: number;
    readonly error?: object;
    readonly headers?: http.OutgoingHttpHeaders;
    readonly text?: string;
  }
  /** During execution: the response is stored under the key and replayed. */
  | {
    readonly kind: "kept";
    readonly status: number;
    readonly error: object;
    readonly headers?: http.OutgoingHttpHeaders;
  }
  | { readonly kind: "hang" }
  /** The connection is cut before execution. */
  | { readonly kind: "reset" }
  /** The session is created, and the connection is cut before the response. */
  | { readonly kind: "reset_after" };

interface Kept {
  readonly digest: string;
  readonly answer: Promise<{ status: number; body: object; headers: http.OutgoingHttpHeaders }>;
  isDone: boolean;
  readonly requestId: string;
}

/** Options of the server. */
export interface StripeServerOptions {
  readonly secretKey?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
}

const required = [
  "mode",
  "success_url",
  "line_items[0][quantity]",
  "line_items[0][price_data][currency]",
  "line_items[0][price_data][product_data][name]",
  "line_items[0][price_data][recurring][interval]",
  "line_items[0][price_data][unit_amount]",
];
const known = new Set([
  ...required,
  "cancel_url",
  "customer_email",
  "client_reference_id",
  "payment_method_collection",
  "metadata[plan]",
  "metadata[checkout]",
  "subscription_data[metadata][plan]",
  "subscription_data[metadata][checkout]",
]);

/** The server. */
export class StripeServer {
  readonly #server: http.Server | https.Server;
  readonly secretKey: string;
  /** In order of arrival. */
  readonly calls: StripeCall[] = [];
  /** Sessions by id. */
  readonly sessions = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #kept = new Map<string, Kept>();
  #faults: Fault[] = [];
  #held: Promise<void> | null = null;
  url = "";

  private constructor({ secretKey = "sk_test_4eC39HqLyjWDarjtT1zdp7dc", tls }: StripeServerOptions) {
    this.secretKey = secretKey;
    const handle = (request: http.IncomingMessage, response: http.ServerResponse) =>
      void this.#handle(request, response);
    this.#server = tls === undefined ? http.createServer(handle) : https.createServer({ ...tls }, handle);
  }

  /** Starts a server on a free port. */
  static async open(options: StripeServerOptions = {}): Promise<StripeServer> {
    const server = new StripeServer(options);
    const port = await listen(server.#server);
    server.url = options.tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`;
    return server;
  }

  /** Sets the faults of the next requests, in order. */
  fail(...faults: readonly Fault[]): void {
    this.#faults = [...faults];
  }

  /** Delays every response until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = null;
      resolve();
    };
  }

  /** Clears calls, sessions and keys. */
  clear(): void {
    this.calls.length = 0;
    this.sessions.clear();
    this.#kept.clear();
    this.#faults = [];
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    const { headers, url = "" } = request;
    const call: StripeCall = {
      headers,
      path: url,
      form: Object.fromEntries(new URLSearchParams(body)),
      status: null,
    };
    this.calls.push(call);
    const requestId = `req_${randomBytes(7).toString("hex")}`;
    const send = (status: number, value: object | string, more: http.OutgoingHttpHeaders = {}) => {
      call.status = status;
      const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
      response.writeHead(status, { "Content-Type": "application/json", "Request-Id": requestId, ...more })
        .end(text);
    };
    const fault = this.#faults.shift();
    switch (fault?.kind) {
      case "hang":
        return;
      case "reset":
        return void request.socket.destroy();
      case "answer":
        return send(fault.status, fault.text ?? { error: fault.error ?? {} }, fault.headers);
    }
    const refusal = this.#refuse(request, call);
    if (refusal !== null) return send(refusal.status, { error: refusal.error });
    const answer = await this.#execute({ headers, body, call, requestId }, fault);
    if (fault?.kind === "reset_after") return void request.socket.destroy();
    send(answer.status, answer.body, answer.headers);
  }

  /** Returns the refusal that precedes idempotency, if any. */
  #refuse(
    { method, headers }: http.IncomingMessage,
    call: StripeCall,
  ): { status: number; error: object } | null {
    const invalid = (status: number, message: string, more: object = {}) => ({
      status,
      error: { type: "invalid_request_error", message, ...more },
    });
    if (headers.authorization !== `Bearer ${this.secretKey}`) {
      return invalid(401, "Invalid API Key provided: sk_test_****************p7dc");
    }
    if (method !== "POST" || call.path !== "/v1/checkout/sessions") {
      return invalid(404, `Unrecognized request URL (${method}: ${call.path}).`);
    }
    if (!/^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(String(headers["stripe-version"]))) {
      return invalid(400, "Invalid Stripe API version");
    }
    if (headers["content-type"] !== "application/x-www-form-urlencoded") {
      return invalid(
        400,
        "Invalid request (check that your POST content type is application/x-www-form-urlencoded).",
      );
    }
    for (const param of Object.keys(call.form)) {
      if (!known.has(param)) {
        return invalid(400, `Received unknown parameter: ${param}`, { code: "parameter_unknown", param });
      }
    }
    for (const param of required) {
      if (call.form[param] === undefined) {
        return invalid(400, `Missing required param: ${param}.`, { code: "parameter_missing", param });
      }
    }
    const email = call.form.customer_email;
    if (email !== undefined && !/^[\x21-\x7e]+@[\w-]+(\.[\w-]+)+$/.test(email)) {
      return invalid(400, `Invalid email address: ${email}`, {
        code: "email_invalid",
        param: "customer_email",
      });
    }
    return null;
  }

  async #execute(
    { headers, body, call, requestId }: {
      headers: http.IncomingHttpHeaders;
      body: string;
      call: StripeCall;
      requestId: string;
    },
    fault: Fault | undefined,
  ): Promise<{ status: number; body: object; headers: http.OutgoingHttpHeaders }> {
    const key = String(headers["idempotency-key"] ?? randomBytes(8).toString("hex"));
    const digest = createHash("sha256").update(body).digest("hex");
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      const error = (status: number, message: string, code?: string) => ({
        status,
        body: { error: { type: "idempotency_error", message, ...(code === undefined ? {} : { code }) } },
        headers: {},
      });
      if (kept.digest !== digest) {
        return error(
          400,
          "Keys for idempotent requests can only be used with the same parameters they were first used with.",
        );
      }
      if (!kept.isDone) {
        return error(
          409,
          "There is currently another in-progress request using this Idempotent Key.",
          "idempotency_key_in_use",
        );
      }
      const answer = await kept.answer;
      return {
        ...answer,
        headers: { ...answer.headers, "Idempotent-Replayed": "true", "Original-Request": kept.requestId },
      };
    }
    const entry: Kept = { digest, answer: this.#answer(call, fault), isDone: false, requestId };
    this.#kept.set(key, entry);
    const answer = await entry.answer;
    entry.isDone = true;
    return answer;
  }

  async #answer(
    { form }: StripeCall,
    fault: Fault | undefined,
  ): Promise<{ status: number; body: object; headers: http.OutgoingHttpHeaders }> {
    if (this.#held !== null) await this.#held;
    if (fault?.kind === "kept") {
      return { status: fault.status, body: { error: fault.error }, headers: fault.headers ?? {} };
    }
    const id = `cs_test_${randomBytes(20).toString("hex")}`;
    const created = Math.floor(Date.now() / 1000);
    const session = {
      id,
      object: "checkout.session",
      amount_total: Number(form["line_items[0][price_data][unit_amount]"]),
      cancel_url: form.cancel_url,
      client_reference_id: form.client_reference_id ?? null,
      created,
      currency: "usd",
      customer: null,
      customer_email: form.customer_email ?? null,
      expires_at: created + 86_400,
      livemode: false,
      metadata: { plan: form["metadata[plan]"], checkout: form["metadata[checkout]"] },
      mode: form.mode,
      payment_status: "unpaid",
      status: "open",
      subscription: null,
      success_url: form.success_url,
      url: `https://checkout.stripe.com/c/pay/${id}#fid`,
    };
    this.sessions.set(id, session);
    return { status: 200, body: session, headers: {} };
  }
}
