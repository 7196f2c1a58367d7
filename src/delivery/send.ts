/**
 * One delivery request over a kept-alive connection, and what the answer means.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";

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
  /** No answer in time, no connection, or 503: the tier's trouble. */
  | { readonly kind: "unreachable"; readonly status: number | null; readonly reason: string };

/** How the tier is reached. */
export interface SendOptions {
  /** Base address, `https:`; `http:` serves benchmarks and tests. */
  readonly url: string;
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string } | null;
  /** From the request's start to the end of its answer. */
  readonly timeoutMs: number;
  readonly connectionsMax: number;
}

// What is read of an answer; the tier's are a few hundred bytes.
const answerBytesMax = 16 * 1024;
// Renewed certificate files are noticed within this time.
const filesCheckMs = 10_000;

/** Sends events to the actions tier. */
export class Sender {
  readonly #options: SendOptions;
  readonly #url: URL;
  #agent: http.Agent;
  #filesText = "";
  readonly #filesTimer: ReturnType<typeof setInterval> | null;

  constructor(options: SendOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    this.#agent = this.#openAgent();
    this.#filesTimer = options.files === null ? null : setInterval(() => this.#renew(), filesCheckMs);
    this.#filesTimer?.unref();
  }

  #openAgent(): http.Agent {
    const { files, connectionsMax } = this.#options;
    const common = { keepAlive: true, maxSockets: connectionsMax, scheduling: "lifo" as const };
    if (this.#url.protocol === "http:") return new http.Agent(common);
    const [ca, cert, key] = files === null
      ? [undefined, undefined, undefined]
      : [readFileSync(files.ca), readFileSync(files.cert), readFileSync(files.key)];
    this.#filesText = `${ca}${cert}${key}`;
    return new https.Agent({
      ...common,
      minVersion: "TLSv1.2",
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  }

  // A broken pair keeps the old one: the next check tries again.
  #renew(): void {
    const { files } = this.#options;
    if (files === null) return;
    try {
      const text = `${readFileSync(files.ca)}${readFileSync(files.cert)}${readFileSync(files.key)}`;
      if (text === this.#filesText) return;
      const agent = this.#openAgent();
      this.#agent = agent;
    } catch {
      // Half-written files; the connections that are open go on.
    }
  }

  /** Sends one event and says what became of it; never throws. */
  send(eventId: string, body: string): Promise<SendOutcome> {
    return new Promise((resolve) => {
      const request = (this.#url.protocol === "http:" ? http : https).request({
        agent: this.#agent,
        method: "PUT",
        host: this.#url.hostname.replace(/^\[|\]$/g, ""),
        port: this.#url.port || undefined,
        path: `${this.#url.pathname.replace(/\/$/, "")}/v1/events/${eventId}`,
        headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
      });
      const timer = setTimeout(() => request.destroy(new Error("ETIMEDOUT")), this.#options.timeoutMs);
      const settle = (outcome: SendOutcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      request.on("error", (error: Error & { code?: string }) => {
        settle({ kind: "unreachable", status: null, reason: failureWord(error) });
      });
      request.on("response", (response) => readAnswer(response, settle));
      request.end(body);
    });
  }

  /** Closes the connections. */
  close(): void {
    if (this.#filesTimer !== null) clearInterval(this.#filesTimer);
    this.#agent.destroy();
  }
}

function failureWord(error: Error & { code?: string }): string {
  return error.code ?? (error.message === "ETIMEDOUT" ? "ETIMEDOUT" : "EUNKNOWN");
}

function readAnswer(response: http.IncomingMessage, settle: (outcome: SendOutcome) => void): void {
  const status = response.statusCode ?? 0;
  let text = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    if (text.length < answerBytesMax) text += chunk;
  });
  response.on("error", () => settle({ kind: "unreachable", status, reason: "ECONNRESET" }));
  response.on("end", () => {
    // Never delivered before the whole 2xx has arrived.
    if (!response.complete) settle({ kind: "unreachable", status, reason: "ECONNRESET" });
    else if (status >= 200 && status < 300) settle({ kind: "delivered", status });
    else if (status === 503) settle({ kind: "unreachable", status, reason: "503" });
    else {
      const retryAfterMs = readRetryAfter(response.headers["retry-after"]);
      settle({ kind: "refused", status, reason: refusalWord(text), retryAfterMs });
    }
  });
}

/** Seconds only: the tier is ours and sends no dates. At most a day, so that no answer can park a lead. */
function readRetryAfter(value: string | undefined): number {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Math.min(Number(value), 86_400) * 1000 : 0;
}

/** The failed effects or the error code of the tier's answer, in words that hold no content. */
function refusalWord(text: string): string | null {
  try {
    const answer = JSON.parse(text) as { error?: unknown; effects?: Record<string, unknown> };
    const failed = Object.entries(answer.effects ?? {})
      .filter(([, state]) => typeof state === "string" && state.startsWith("failed"))
      .map(([effect, state]) => `${effect} ${state}`);
    const word = failed.length > 0 ? failed.join("; ") : answer.error;
    // The store takes no NUL, and a log no line breaks.
    return typeof word === "string" ? word.replace(/\p{Cc}/gu, " ").slice(0, 200) : null;
  } catch {
    return null;
  }
}
