/**
 * The minutes of all nodes, folded into the steps of a plot.
 *
 * @module
 */

/** The figures of one node in one minute. */
export interface MinuteFigures {
  /** The start of the minute, milliseconds since 1970. */
  readonly atMs: number;
  readonly accepted: number;
  readonly refused: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly oldestPendingSeconds: number | null;
  readonly breaker: string | null;
}

/** The figures of a step; `null` where no node has left any. */
export interface Step extends MinuteFigures {}

/** A range of time that can be chosen, and the length of its steps. */
export interface Range {
  readonly text: string;
  readonly spanMs: number;
  readonly stepMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The ranges by their names in the address. */
export const ranges = {
  "1h": { text: "1 hour", spanMs: hourMs, stepMs: minuteMs },
  "24h": { text: "24 hours", spanMs: 24 * hourMs, stepMs: 10 * minuteMs },
  "7d": { text: "7 days", spanMs: 7 * 24 * hourMs, stepMs: hourMs },
  "30d": { text: "30 days", spanMs: 30 * 24 * hourMs, stepMs: 6 * hourMs },
} as const satisfies Readonly<Record<string, Range>>;

/** The name of a range. */
export type RangeName = keyof typeof ranges;

// The worst counts: one node whose breaker is open is worth a look.
const rank = ["closed", "half_open", "open"];

/** Adds up counts over nodes and minutes, and takes the worst of what is a standing. */
export function foldSteps(
  minutes: readonly MinuteFigures[],
  { fromMs, stepMs, steps }: { readonly fromMs: number; readonly stepMs: number; readonly steps: number },
): (Step | null)[] {
  const found = Array.from<Step | null>({ length: steps }).fill(null);
  for (const minute of minutes) {
    const index = Math.floor((minute.atMs - fromMs) / stepMs);
    if (index < 0 || index >= steps) continue;
    const before = found[index] ?? null;
    found[index] = before === null ? { ...minute, atMs: fromMs + index * stepMs } : {
      atMs: before.atMs,
      accepted: before.accepted + minute.accepted,
      refused: before.refused + minute.refused,
      delivered: before.delivered + minute.delivered,
      pending: Math.max(before.pending, minute.pending),
      dead: Math.max(before.dead, minute.dead),
      oldestPendingSeconds: worst(before.oldestPendingSeconds, minute.oldestPendingSeconds),
      breaker: rank.indexOf(minute.breaker ?? "") > rank.indexOf(before.breaker ?? "")
        ? minute.breaker
        : before.breaker,
    };
  }
  return found;
}

function worst(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
