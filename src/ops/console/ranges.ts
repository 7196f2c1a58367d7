/**
 * The spans of time that the plots can show.
 *
 * @module
 */

/** A range of time that can be chosen, and the length of its steps. */
export interface Range {
  readonly text: string;
  readonly spanMs: number;
  readonly stepMs: number;
  /** The step in words. */
  readonly stepText: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The ranges by their names in the address. */
export const ranges = {
  "1h": { text: "1 hour", spanMs: hourMs, stepMs: minuteMs, stepText: "minute" },
  "24h": { text: "24 hours", spanMs: 24 * hourMs, stepMs: 10 * minuteMs, stepText: "10 minutes" },
  "7d": { text: "7 days", spanMs: 7 * 24 * hourMs, stepMs: hourMs, stepText: "hour" },
  "30d": { text: "30 days", spanMs: 30 * 24 * hourMs, stepMs: 6 * hourMs, stepText: "6 hours" },
} as const satisfies Readonly<Record<string, Range>>;

/** The name of a range. */
export type RangeName = keyof typeof ranges;
