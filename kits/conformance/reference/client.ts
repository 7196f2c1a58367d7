/**
 * The shortest client that is a kit: tries, waits and errors.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { Agent as PlainAgent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import {
  type Acknowledgement,
  readAcknowledgement,
  readCode,
  readDetail,
  readFields,
  readMaxAge,
  readRetryAfter,
  readVocabulary,
  type Vocabulary,
} from "./answers.ts";
import { type Exchange, exchange } from "./exchange.ts";
import { addressFault, idempotencyKeyFault, keyFault, requestIdFault } from "./refusals.ts";

/** Why a call came to nothing. */
export type Kind =
  | "unauthorized"
  | "invalid_lead"
  | "refused"
  | "unavailable"
  | "cancelled"
  | "misconfigured";

/** An error of a call. */
export class LeadsError extends Error {
  override readonly name = "LeadsError";
  readonly kind: Kind;
  readonly status: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  /** Spent tries. */
  readonly tries: number;
  readonly unknownOutcome: boolean;
  readonly fields: Record<string, string> | undefined;
  readonly #detail: string | null;

  constructor(kind: Kind, message: string, told: Partial<Omit<LeadsError, keyof Error | "kind">> = {}) {
    super(message);
    this.kind = kind;
    this.status = told.status ?? null;
    this.code = told.code ?? null;
    this.requestId = told.requestId ?? null;
    this.tries = told.tries ?? 0;
    this.unknownOutcome = told.unknownOutcome ?? false;
    this.fields = told.fields;
    this.#detail = told.detail ?? null;
  }

  /** What was wrong, in the intake's words. Not among what is shown: a stranger's answer may hold anything. */
  get detail(): string | null {
    return this.#detail;
  }
}

/** What a client is made of. */
export interface ClientOptions {
  readonly key: string | null;
  readonly baseUrl: string | null;
  readonly ca?: readonly string[];
  readonly tries: number;
  readonly tryTimeoutMs: number;
  readonly random: () => number;
}

/** What a call has of its own. Its clock may go faster than time. */
export interface CallOptions {
  readonly requestId: string | null;
  readonly deadlineMs: number;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/** How an answer is to be understood: a result, an error, or something that is tried again. */
type Judgement<T> =
  | { result: T }
  | { kind: Kind; fields?: Record<string, string> }
  | "spent"
  | "not ours"
  | "later";
type Answer = Extract<Exchange, { is: "answer" }>;

/** What every call gives besides its own. */
export interface Told {
  readonly request_id: string;
  readonly tries: number;
}

const backoffCapMs = 30_000;

/** A client. */
export class Client {
  readonly #options: ClientOptions;
  readonly #base: string;
  readonly #agent: PlainAgent;
  #vocabulary:
    | { value: Vocabulary; etag: string | undefined; control: string | undefined; untilMs: number }
    | undefined;

  /** @throws {LeadsError} `misconfigured`, for a key or an address that cannot be right */
  constructor(options: ClientOptions) {
    const fault = keyFault(options.key) ?? addressFault(options.baseUrl);
    if (fault !== null) throw new LeadsError("misconfigured", fault);
    this.#options = options;
    this.#base = (options.baseUrl as string).replace(/\/$/, "");
    const secure = this.#base.toLowerCase().startsWith("https:");
    const ca = options.ca === undefined ? {} : { ca: [...options.ca] };
    this.#agent = secure
      ? new TlsAgent({ rejectUnauthorized: true, keepAlive: true, ...ca })
      : new PlainAgent({ keepAlive: true });
  }

  /** Asks whether the key is taken. */
  checkKey(call: CallOptions): Promise<{ verdict: "valid" | "invalid" } & Told> {
    type Verdict = { verdict: "valid" | "invalid" };
    const check = { method: "POST", path: "/v1/intake", body: "{}", headers: this.#posting() } as const;
    return this.#call<Verdict>(check, call, (answer) => {
      if (answer.status === 422 && readCode(answer.body) === "validation_failed") {
        return { result: { verdict: "valid" } };
      }
      if (answer.status === 401) return { result: { verdict: "invalid" } };
      return judgeOthers(answer);
    });
  }

  /** Posts a lead. */
  async postLead(lead: string, idempotencyKey: string, call: CallOptions): Promise<Acknowledgement & Told> {
    const fault = idempotencyKeyFault(idempotencyKey);
    if (fault !== null) throw new LeadsError("misconfigured", fault);
    const headers = { ...this.#posting(), "Idempotency-Key": idempotencyKey };
    return await this.#call({ method: "POST", path: "/v1/intake", body: lead, headers }, call, (answer) => {
      const { status, body } = answer;
      const acknowledgement = status === 200 || status === 202 ? readAcknowledgement(body) : null;
      if (acknowledgement !== null) return { result: acknowledgement };
      const fields = status === 422 ? readFields(body) : null;
      return fields !== null ? { kind: "invalid_lead", fields } : judgeOthers(answer);
    }, true);
  }

  /** Reads the vocabulary, or gives the one that is still fresh. */
  async vocabulary(call: CallOptions): Promise<Vocabulary> {
    const kept = this.#vocabulary;
    if (kept !== undefined && call.nowMs() < kept.untilMs) return kept.value;
    const headers: Record<string, string> = kept?.etag === undefined ? {} : { "If-None-Match": kept.etag };
    const read = await this.#call({ method: "GET", path: "/v1/vocabulary", headers }, call, (answer) => {
      const renewed = answer.status === 304 && kept?.etag !== undefined ? kept.value : null;
      const value = answer.status === 200 ? readVocabulary(answer.body) : renewed;
      if (value === null) return judgeOthers(answer);
      const etag = answer.headers.etag ?? (renewed === null ? undefined : kept?.etag);
      const control = answer.headers["cache-control"] ?? (renewed === null ? undefined : kept?.control);
      return { result: { value, etag, control, untilMs: call.nowMs() + readMaxAge(control) } };
    });
    this.#vocabulary = read;
    return read.value;
  }

  #posting(): Record<string, string> {
    return { "X-API-Key": this.#options.key as string, "Content-Type": "application/json" };
  }

  async #call<T>(
    request: { method: "GET" | "POST"; path: string; body?: string; headers: Record<string, string> },
    call: CallOptions,
    judge: (answer: Answer) => Judgement<T>,
    isPost = false,
  ): Promise<T & Told> {
    const { random, tries: triesMax, tryTimeoutMs } = this.#options;
    const fault = requestIdFault(call.requestId);
    if (fault !== null) throw new LeadsError("misconfigured", fault);
    const requestId = call.requestId ?? newRequestId();
    const headers = { ...request.headers, "X-Request-Id": requestId, "User-Agent": "leads-reference/0.1.0" };
    const outgoing = { ...request, headers, url: new URL(this.#base + request.path) };
    const endMs = call.nowMs() + call.deadlineMs;
    let spent = 0;
    let limited = 0;
    let unknown = false;
    let [status, code]: [number | null, string | null] = [null, null];
    let detail: string | null = null;
    const failure = (kind: Kind, message: string, fields?: Record<string, string>) =>
      new LeadsError(kind, message, {
        status,
        code,
        detail,
        requestId,
        tries: spent,
        unknownOutcome: unknown,
        fields,
      });
    for (;;) {
      const timeout = AbortSignal.timeout(Math.max(0, Math.min(tryTimeoutMs, endMs - call.nowMs())));
      const came = await exchange(outgoing, this.#agent, AbortSignal.any([timeout, call.signal]));
      if (call.signal.aborted) throw failure("cancelled", "The call was cancelled");
      status = came.is === "nothing" ? null : came.status;
      code = came.is === "answer" ? readCode(came.body) : null;
      detail = came.is === "answer" ? readDetail(came.body) : null;
      let judgement: Judgement<T> = came.is === "answer" ? judge(came) : "spent";
      if (came.is === "unacceptable") judgement = { kind: "refused" };
      if (judgement !== "later") spent += 1;
      const cut = (came.is === "nothing" && came.sent) || came.is === "unacceptable";
      if (isPost && (judgement === "not ours" || cut)) unknown = true;
      if (typeof judgement === "object" && "result" in judgement) {
        return { ...judgement.result, request_id: requestId, tries: spent };
      }
      if (typeof judgement === "object") {
        throw failure(judgement.kind, messages[judgement.kind], judgement.fields);
      }
      const after = came.is === "answer" ? readRetryAfter(came.headers["retry-after"], call.nowMs()) : null;
      let waitMs: number;
      if (judgement === "later") {
        limited += 1;
        const atLeastMs = Math.max(1000, after ?? 1000);
        const grownMs = Math.min(backoffCapMs, atLeastMs * 2 ** (limited - 1));
        waitMs = Math.max(atLeastMs, grownMs) * (1 + random() / 4);
      } else {
        limited = 0;
        if (spent >= triesMax) throw failure("unavailable", "All tries are spent");
        const backoffMs = Math.min(backoffCapMs, 1000 * 2 ** (spent - 1)) * (1 + random()) / 2;
        const floorMs = status !== null && status >= 500 ? after ?? 0 : 0;
        waitMs = Math.max(backoffMs, floorMs);
      }
      if (call.nowMs() + waitMs >= endMs) {
        throw failure("unavailable", "The deadline comes before the next try");
      }
      await call.sleep(waitMs);
      if (call.signal.aborted) throw failure("cancelled", "The call was cancelled");
    }
  }
}

const messages: Record<Kind, string> = {
  unauthorized: "The key is not taken",
  invalid_lead: "The lead has failing fields",
  refused: "The answer must not be repeated",
  unavailable: "The intake is not available",
  cancelled: "The call was cancelled",
  misconfigured: "Something is not set up",
};

/** What an answer means that is no result. */
function judgeOthers({ status }: Answer): Exclude<Judgement<never>, { result: never }> {
  if (status === 401) return { kind: "unauthorized" };
  if (status === 429) return "later";
  if (status >= 200 && status < 300) return "not ours";
  return status >= 500 && status < 600 ? "spent" : { kind: "refused" };
}

/** Joins a namespace and an id. @throws {LeadsError} `misconfigured` */
export function idempotencyKey(namespace: string, id: string): string {
  const key = `${namespace}:${id}`;
  const fault = namespace.trim() === "" || id.trim() === "" ? "A part is blank" : idempotencyKeyFault(key);
  if (fault !== null) throw new LeadsError("misconfigured", fault);
  return key;
}

function newRequestId(): string {
  const letters = randomBytes(64).toString("base64").replace(/[^0-9A-Za-z]/g, "");
  return `leads-reference-${letters.slice(0, 16)}`;
}
