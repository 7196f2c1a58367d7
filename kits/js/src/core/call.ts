/**
 * One call: its tries, its waits, and how it ends. This module is browser compatible.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import {
  type CallFacts,
  CancelledError,
  InvalidLeadError,
  type LeadsError,
  nothingSent,
  RefusedError,
  UnauthorizedError,
  UnavailableError,
} from "./errors.ts";
import { readCode, readDetail, type Verdict } from "./judge.ts";
import type { Answer, Transport, TryOutcome } from "./transport.ts";
import { backoffMs, rateLimitMs, readRetryAfter } from "./waits.ts";
import { type CallName, type Observer, tell } from "./watch.ts";

/** What is the same for all calls of a client. */
export interface Settings {
  readonly transport: Transport;
  readonly tries: number;
  readonly tryTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: Observer | undefined;
}

/** What is sent, and how the answer is judged. */
export interface Plan<T> {
  readonly name: CallName;
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly requestId: string;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  judge(answer: Answer): Verdict<T>;
}

/** What a call gives when it ends well. */
export interface Done<T> {
  readonly value: T;
  /** Spent tries, the one that ended well among them. */
  readonly tries: number;
}

/**
 * Makes tries until one ends the call.
 *
 * @throws {LeadsError} when the call does not end well
 */
export function perform<T>(settings: Settings, plan: Plan<T>): Promise<Done<T>> {
  return new Call(settings, plan).run();
}

/** What comes after a try: the end, or another one after a wait. */
type Next<T> =
  | { readonly end: Done<T> | LeadsError }
  | { readonly waitMs: number; readonly rateLimited: boolean; readonly reason: string | null };

class Call<T> {
  readonly #settings: Settings;
  readonly #plan: Plan<T>;
  readonly #deadlineAtMs: number;
  #facts: CallFacts = nothingSent;
  /** 429s since anything else happened. */
  #limitedInRow = 0;

  constructor(settings: Settings, plan: Plan<T>) {
    this.#settings = settings;
    this.#plan = plan;
    this.#deadlineAtMs = settings.clock.now() + plan.deadlineMs;
  }

  // Every round spends a try or waits a second at least, so that tries and deadline bound them.
  async run(): Promise<Done<T>> {
    const { clock, observer } = this.#settings;
    const { name: call, requestId, signal } = this.#plan;
    let reason: string | null = null;
    for (;;) {
      if (signal?.aborted === true) throw new CancelledError(this.#facts);
      const leftMs = this.#deadlineAtMs - clock.now();
      if (leftMs <= 0) throw new UnavailableError(this.#facts, reason);
      const next = this.#judge(await this.#try(Math.min(this.#settings.tryTimeoutMs, leftMs)));
      if ("end" in next) {
        if (next.end instanceof Error) throw next.end;
        return next.end;
      }
      const { waitMs, rateLimited } = next;
      reason = next.reason;
      if (clock.now() + waitMs > this.#deadlineAtMs) throw new UnavailableError(this.#facts, reason);
      tell(observer, { type: "wait", call, waitMs, rateLimited, requestId });
      await clock.sleep(waitMs, signal);
    }
  }

  /** One try under its time-out, which is real also where the clock is not. */
  async #try(timeoutMs: number): Promise<TryOutcome> {
    const { transport, observer } = this.#settings;
    const { name: call, method, url, headers, body, requestId, signal } = this.#plan;
    const startMs = performance.now();
    const ender = new AbortController();
    const cancel = () => ender.abort();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      ender.abort();
    }, timeoutMs);
    signal?.addEventListener("abort", cancel);
    let outcome = await transport({ method, url, headers, body, signal: ender.signal });
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    if (outcome.kind === "lost" && timedOut) outcome = { ...outcome, reason: "a time-out" };
    const status = statusOf(outcome);
    tell(observer, { type: "try", call, method, status, durationMs: performance.now() - startMs, requestId });
    return outcome;
  }

  #judge(outcome: TryOutcome): Next<T> {
    if (outcome.kind === "answer") return this.#judgeAnswer(outcome.answer);
    const { requestId, signal } = this.#plan;
    const cancelled = outcome.kind === "lost" && signal?.aborted === true;
    this.#facts = {
      status: statusOf(outcome),
      code: null,
      detail: null,
      requestId,
      tries: this.#facts.tries + (cancelled ? 0 : 1),
      unknownOutcome: this.#unknownAfter(outcome.kind === "excess" || outcome.sent),
    };
    if (outcome.kind === "excess") return { end: new RefusedError(this.#facts, outcome.why) };
    if (cancelled) return { end: new CancelledError(this.#facts) };
    return this.#spent(null, outcome.reason);
  }

  #judgeAnswer(answer: Answer): Next<T> {
    const verdict = this.#plan.judge(answer);
    this.#facts = {
      status: answer.status,
      code: verdict.kind === "done" ? null : readCode(answer.body),
      detail: verdict.kind === "done" ? null : readDetail(answer.body),
      requestId: this.#plan.requestId,
      tries: this.#facts.tries + (verdict.kind === "rate_limited" ? 0 : 1),
      unknownOutcome: this.#unknownAfter(verdict.kind === "foreign"),
    };
    switch (verdict.kind) {
      case "done":
        return { end: { value: verdict.value, tries: this.#facts.tries } };
      case "unauthorized":
        return { end: new UnauthorizedError(this.#facts) };
      case "invalid_lead":
        return { end: new InvalidLeadError(this.#facts, verdict.fields) };
      case "refused":
        return { end: new RefusedError(this.#facts) };
      case "rate_limited":
        return this.#limited(this.#retryAfterMs(answer));
      case "server_error":
        return this.#spent(this.#retryAfterMs(answer), null);
      case "foreign":
        return this.#spent(null, "an answer that is not the intake's");
    }
  }

  #spent(retryAfterMs: number | null, reason: string | null): Next<T> {
    this.#limitedInRow = 0;
    const { tries } = this.#facts;
    if (tries >= this.#settings.tries) return { end: new UnavailableError(this.#facts, reason) };
    const waitMs = backoffMs(tries, this.#settings.random(), retryAfterMs);
    return { waitMs, rateLimited: false, reason };
  }

  #limited(retryAfterMs: number | null): Next<T> {
    this.#limitedInRow += 1;
    const waitMs = rateLimitMs(this.#limitedInRow, this.#settings.random(), retryAfterMs);
    return { waitMs, rateLimited: true, reason: null };
  }

  #retryAfterMs(answer: Answer): number | null {
    return readRetryAfter(answer.header("retry-after"), this.#settings.clock.now());
  }

  /** Only a post may have done something; once that is unknown it stays so. */
  #unknownAfter(unknown: boolean): boolean {
    return this.#plan.name === "post_lead" && (this.#facts.unknownOutcome || unknown);
  }
}

/** The status of a try's answer; `null` where none came. */
function statusOf(outcome: TryOutcome): number | null {
  if (outcome.kind === "answer") return outcome.answer.status;
  return outcome.kind === "excess" ? outcome.status : null;
}
