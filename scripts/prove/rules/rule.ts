/**
 * What a rule is, and what the rules share.
 *
 * @module
 */

import type { Asked, Happened, History, StoredEvent } from "../history.ts";

/** One promise, and how it is looked for in a history. */
export interface Rule {
  readonly name: string;
  /** The promise, in a sentence. */
  readonly says: string;
  /** Everything that breaks it, in words. */
  readonly broken: (history: History) => string[];
}

/** Whether something that was done touches a span of time. */
export function isTouched(
  happened: readonly Happened[],
  { fromMs, toMs, node = null }: {
    readonly fromMs: number;
    readonly toMs: number;
    readonly node?: number | null;
  },
): boolean {
  return happened.some((one) =>
    one.fromMs <= toMs && one.toMs >= fromMs && (node === null || one.node === null || one.node === node)
  );
}

/** Kinds that disturb nobody's work: what a service must go through without a mark. */
const harmless = new Set([
  "terminate",
  "listener_certificate",
  "delivery_certificate",
  "revoke",
  "burst_of_key",
  "burst_of_address",
]);

/** What was done that excuses something. */
export function disturbances({ happened }: Pick<History, "happened">): Happened[] {
  return happened.filter(({ kind }) => !harmless.has(kind));
}

/** Rows by a name. */
export function byId(events: readonly StoredEvent[]): Map<string, StoredEvent> {
  return new Map(events.map((event) => [event.eventId, event]));
}

/** A request in a few words, without its content. */
export function inWords(
  { what, node, tenant, idempotencyKey, content, sentAtMs, doneAtMs, answer, failure }: Asked,
): string {
  const key = idempotencyKey ?? `content ${content}`;
  const outcome = answer === null ? failure ?? "nothing" : String(answer.status);
  return `${what} of ${tenant} (${key}) to service ${node}, ${seconds(sentAtMs)}–${
    seconds(doneAtMs)
  }, got ${outcome}`;
}

/** A time of the history, in seconds. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}

/** `a` and `b` differ by value. */
export function differs(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
