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

/** Hears of every try and every wait, to log and to count. What it throws is dropped. */
export type Observer = (event: LeadsEvent) => void;

/** Tells it, come what may: a fault in a counter must lose no lead. */
export function tell(observer: Observer | undefined, event: LeadsEvent): void {
  try {
    observer?.(event);
  } catch {
    // Nobody is left to tell.
  }
}
