/**
 * What a call tells while it is under way. This module is browser compatible.
 *
 * @module
 */

/** Which call it is. */
export type CallName = "post_lead" | "check_key" | "vocabulary";

/** A try that is over. */
export interface TryEvent {
  readonly type: "try";
  readonly call: CallName;
  readonly method: "GET" | "POST";
  /** `null` when no answer came. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly requestId: string;
}

/** A wait that begins. */
export interface WaitEvent {
  readonly type: "wait";
  readonly call: CallName;
  readonly waitMs: number;
  /** Whether the wait is for a 429, which spends no try. */
  readonly rateLimited: boolean;
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
