/**
 * What a call tells while it is under way. This module is browser compatible.
 *
 * @module
 */

/** Which call it is. */
export type CallName = "post_lead" | "check_key" | "vocabulary";

/** A try that is over. */
export interface TryEvent {
  /** Tells it from a wait. */
  readonly type: "try";
  /** Which call it belongs to. */
  readonly call: CallName;
  /** Of the request. */
  readonly method: "GET" | "POST";
  /** Of the answer; `null` when none came. */
  readonly status: number | null;
  /** From the first packet to the last byte, in milliseconds. */
  readonly durationMs: number;
  /** Which call of them: its `X-Request-Id`. */
  readonly requestId: string;
}

/** A wait that begins. */
export interface WaitEvent {
  /** Tells it from a try. */
  readonly type: "wait";
  /** Which call it belongs to. */
  readonly call: CallName;
  /** How long, in milliseconds. */
  readonly waitMs: number;
  /** Whether the wait is for a 429, which spends no try. */
  readonly rateLimited: boolean;
  /** Which call of them: its `X-Request-Id`. */
  readonly requestId: string;
}

/** Never has a key, a lead or an answer in it. */
export type LeadsEvent = TryEvent | WaitEvent;

/** Hears of every try and every wait, to log and to count. What it throws or rejects with is dropped. */
export type Observer = (event: LeadsEvent) => void;

/** Tells a listener, come what may: a fault in a counter must lose no lead, and what it rejects with end no process. */
export function tell<T>(listener: ((told: T) => unknown) | undefined, told: T): void {
  try {
    const heard = listener?.(told);
    // An async function passes for one that gives nothing.
    if (typeof heard === "object" && heard !== null) Promise.resolve(heard).catch(() => {});
  } catch {
    // Nobody is left to tell.
  }
}
