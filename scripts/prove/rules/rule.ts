/**
 * The type of a rule, and functions that rules share.
 *
 * @module
 */

import type { Delivery, Exchange, History, PerformedStep, StoredEvent } from "../history.ts";

/** Rules by name; each returns a message for each violation in a history. */
export type Rules = Readonly<Record<string, (history: History) => string[]>>;

/** A span of time. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** The affected service process. Default: any. */
  readonly node?: number | null;
}

/** Whether a step that affects the span's process overlaps the span. */
export function overlapsAny(
  performed: readonly PerformedStep[],
  { fromMs, toMs, node = null }: Span,
): boolean {
  return performed.some((one) =>
    one.fromMs <= toMs && one.toMs >= fromMs && (node === null || one.node === null || one.node === node)
  );
}

const harmless = /^(terminate|revoke|burst_of_key|burst_of_address|burst_of_forms)$/;
/** The number of small commits, four per second, after which breakers and pools have recovered from a fault. */
export const heartbeatsToRecover = 32;

/** Returns the steps that excuse failures; the other steps must not affect the service. */
export function disruptions({ performed }: History): PerformedStep[] {
  return performed.filter(({ kind }) => !harmless.test(kind));
}

/** Returns the steps that excuse failures, each extended until the service must accept posts again. */
export function outages(history: History): PerformedStep[] {
  return disruptions(history).map((one) => ({ ...one, toMs: recoveredAtMs(history, one.toMs) }));
}

/** Returns the clean restarts of a service process, each extended until it must accept posts again. */
export function restarts(history: History): PerformedStep[] {
  return history.performed.filter(({ kind }) => kind === "terminate")
    .map((one) => ({ ...one, toMs: recoveredAtMs(history, one.toMs) }));
}

/** Returns when the service must have recovered from what ended at `endedAtMs`. */
function recoveredAtMs({ heartbeats }: History, endedAtMs: number): number {
  const next = heartbeats.findIndex((atMs) => atMs > endedAtMs);
  return next < 0 ? Infinity : heartbeats[next + heartbeatsToRecover] ?? Infinity;
}

/** Whether the machine was fast enough right before `atMs` that, without a fault, the service must be writable. */
export function wasResponsiveBefore(history: History, atMs: number): boolean {
  // After a slow moment, the service needs as many heartbeats to recover as after a fault.
  return wasResponsive(history, { fromMs: atMs - heartbeatsToRecover * 300, toMs: atMs });
}

/** Whether the proof's own commits and health checks were fast throughout a span. */
export function wasResponsive({ heartbeats, healthChecks }: History, { fromMs, toMs }: Span): boolean {
  const within = [fromMs, ...heartbeats.filter((atMs) => atMs > fromMs && atMs < toMs), toMs];
  return within.every((atMs, index) => atMs - (within[index - 1] ?? atMs) < 1_000) &&
    healthChecks.every(({ sentAtMs, doneAtMs }) =>
      doneAtMs - sentAtMs < 500 || doneAtMs < fromMs || sentAtMs > toMs
    );
}

/** Returns the spans in which no commit could be confirmed. */
export function spansWithoutCommit({ performed }: History) {
  return performed.flatMap(({ kind, noCommit }) => noCommit === null ? [] : [{ kind, ...noCommit }]);
}

/** Returns the earliest time that the database's clock can have shown at a time in the history. */
export function databaseTime({ clockSteps }: History, atMs: number): number {
  const past = clockSteps.filter(({ fromMs, toMs, stepMs }) => (stepMs < 0 ? fromMs : toMs) <= atMs);
  return past.reduce((sum, { stepMs }) => sum + stepMs, performance.timeOrigin + atMs);
}

export function byId({ tables }: History): Map<string, StoredEvent> {
  return new Map(tables.events.map((event) => [event.eventId, event]));
}

/** Whether the receiver responded with 2xx. */
export const isAccepted = ({ responseStatus }: Delivery): boolean =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300;

/** Describes a request without its content. */
export function describe(one: Exchange): string {
  const key = one.idempotencyKey ?? `content ${one.content}`;
  const outcome = one.response === null ? one.failure ?? "no response" : String(one.response.status);
  const when = `${seconds(one.sentAtMs)}–${seconds(one.doneAtMs)}`;
  return `${one.kind} to ${one.tenant} (${key}) at service ${one.node}, ${when}, got ${outcome}`;
}

/** Formats a time in the history in seconds. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}

/** Returns a message for each pair of an actual and an expected value that differ. */
export function differences(
  pairs: Readonly<Record<string, readonly [is: unknown, wanted: unknown]>>,
): string[] {
  return Object.entries(pairs).filter(([, [is, wanted]]) => isDifferent(is, wanted)).map(([name, values]) => {
    const [is, wanted] = values.map((value) => String(JSON.stringify(value)).slice(0, 400));
    return `${name} is ${is}, expected ${wanted}`;
  });
}

function isDifferent(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
