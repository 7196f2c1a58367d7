/**
 * What a rule is, and what the rules share.
 *
 * @module
 */

import type { Arrived, Asked, Happened, History, StoredEvent } from "../history.ts";

/** Promises by name; each finds everything in a history that breaks it, in words. */
export type Rules = Readonly<Record<string, (history: History) => string[]>>;

/** A span of time. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** Left out: whatever it was done to. */
  readonly node?: number | null;
}

/** Whether something that was done touches a span of time. */
export function isTouched(happened: readonly Happened[], { fromMs, toMs, node = null }: Span): boolean {
  return happened.some((one) =>
    one.fromMs <= toMs && one.toMs >= fromMs && (node === null || one.node === null || one.node === node)
  );
}

const harmless = /^(terminate|revoke|burst_of_key|burst_of_address|burst_of_forms)$/;
/** So many small commits, four a second, after a part was whole again, the others are too: a breaker's or a pool's pause. */
export const beatsToRecover = 32;

/** What was done that excuses something; the rest disturbs nobody's work, and a service must go through without a mark. */
export function disturbances({ happened }: History): Happened[] {
  return happened.filter(({ kind }) => !harmless.test(kind));
}

/** The same, until the service must be accepting again. */
export function outages(history: History): Happened[] {
  return disturbances(history).map((one) => {
    const next = history.beats.findIndex((atMs) => atMs > one.toMs);
    return { ...one, toMs: next < 0 ? Infinity : history.beats[next + beatsToRecover] ?? Infinity };
  });
}

/** Whether commits came through at their usual pace just before: then a service that was left alone must be writable. */
export function isCalm({ beats }: History, atMs: number): boolean {
  return beats.filter((one) => one > atMs - 3_000 && one <= atMs).length >= 6;
}

/** The spans in which no commit could be confirmed. */
export function withoutCommit({ happened }: History) {
  return happened.flatMap(({ kind, noCommit }) => noCommit === null ? [] : [{ kind, ...noCommit }]);
}

/** The database's clock at a time of the history, at the least. */
export function databaseTime({ clockSteps }: History, atMs: number): number {
  const passed = clockSteps.filter(({ toMs }) => toMs <= atMs).reduce((sum, { stepMs }) => sum + stepMs, 0);
  return performance.timeOrigin + atMs + passed;
}

/** Rows by a name. */
export function byId({ tables }: History): Map<string, StoredEvent> {
  return new Map(tables.events.map((event) => [event.eventId, event]));
}

/** Whether it was answered 2xx downstream. */
export const isTaken = ({ said }: Arrived): boolean => said !== null && said >= 200 && said < 300;

/** A request in a few words, without its content. */
export function inWords(one: Asked): string {
  const key = one.idempotencyKey ?? `content ${one.content}`;
  const outcome = one.answer === null ? one.failure ?? "nothing" : String(one.answer.status);
  const when = `${seconds(one.sentAtMs)}–${seconds(one.doneAtMs)}`;
  return `${one.what} of ${one.tenant} (${key}) to service ${one.node}, ${when}, got ${outcome}`;
}

/** A time of the history, in seconds. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}

/** `a` and `b` differ by value. */
export function differs(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
