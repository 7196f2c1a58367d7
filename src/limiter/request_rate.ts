/**
 * Keeps a receiver's published limit: never more than its number of requests in any period of its length. This module is
 * browser compatible.
 */

/** A number of requests in a period. */
export interface PublishedRate {
  readonly requests: number;
  readonly seconds: number;
}

interface Account {
  /** When the last requests start, oldest first; as many as the rate allows. */
  readonly startsMs: number[];
  /** When the last refused event may come back. */
  returnsAtMs: number;
}

export type Turn =
  | { readonly kind: "wait"; readonly ms: number }
  /** The turn is too far ahead; it is not reserved, and the event should come back after this time. */
  | { readonly kind: "later"; readonly ms: number };

/** The maximum wait for a turn, during which the event occupies one of its tenant's deliveries. */
const waitMaxMs = 2_000;
// Chosen: an hour, so that a changed rate shows soon.
const laterMaxMs = 3_600_000;
const accountsMax = 10_000;

/** Reserves requests by credential; times are monotonic. */
export class RequestRate {
  readonly #accounts = new Map<string, Account>();

  /** Reserves a turn for one request, if it is at most two seconds ahead; waits are whole milliseconds, as timers are. */
  take(credential: string, { requests, seconds }: PublishedRate, nowMs: number): Turn {
    const account = this.#accountOf(credential, nowMs);
    const { startsMs } = account;
    const first = startsMs.length < requests
      ? nowMs
      : (startsMs[startsMs.length - requests] as number) + seconds * 1_000;
    // Never before the last one, so that the starts stay in order.
    const ms = Math.max(0, Math.ceil(Math.max(first, startsMs.at(-1) ?? nowMs) - nowMs));
    if (ms > waitMaxMs) {
      // Events come back one after the other, not all at once.
      account.returnsAtMs = Math.max(account.returnsAtMs, nowMs + ms) + seconds * 1_000 / requests;
      return { kind: "later", ms: Math.min(account.returnsAtMs - nowMs, laterMaxMs) };
    }
    startsMs.push(nowMs + ms);
    if (startsMs.length > requests) startsMs.shift();
    return { kind: "wait", ms };
  }

  #accountOf(credential: string, nowMs: number): Account {
    const account = this.#accounts.get(credential) ?? { startsMs: [], returnsAtMs: nowMs };
    // The most recently used accounts are last.
    this.#accounts.delete(credential);
    this.#accounts.set(credential, account);
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size > accountsMax) this.#accounts.delete(oldest as string);
    return account;
  }
}
