/**
 * One try on the wire, as the rest of the kit sees it. This module is browser compatible.
 *
 * @module
 */

/** What is sent. */
export interface TryRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, to be sent as UTF-8, the same on every try; `null` where there is none. */
  readonly body: string | null;
  /** Aborted when the try's time is over or the caller cancels. */
  readonly signal: AbortSignal;
}

/** A whole answer. */
export interface Answer {
  readonly status: number;
  /** A header's value by its name in lower case; `null` where there is none. */
  header(name: string): string | null;
  readonly body: Uint8Array;
}

/** How a try ended. */
export type TryOutcome =
  | { readonly kind: "answer"; readonly answer: Answer }
  /** An answer that is not taken: its body too long, a 101, or too many interim answers. */
  | { readonly kind: "excess"; readonly status: number; readonly why: string }
  /**
   * No whole answer. `sent` is false only when it is sure that no byte of the request went out on an established
   * connection; `reason` is a short code such as `ECONNREFUSED`, never a stranger's words.
   */
  | { readonly kind: "lost"; readonly sent: boolean; readonly reason: string | null };

/** Makes one try. It follows no redirect, repeats nothing that may have been sent, and never rejects. */
export type Transport = (request: TryRequest) => Promise<TryOutcome>;

/** An outcome that was too long to be taken. */
export function tooLarge(status: number): TryOutcome {
  return { kind: "excess", status, why: "The answer's body is too large" };
}

/** A 101. */
export const upgraded: TryOutcome = { kind: "excess", status: 101, why: "The answer is an upgrade" };

/** An error's code where it has one that is safe to show: a name, not a sentence. */
export function safeCode(error: unknown): string | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null;
}
