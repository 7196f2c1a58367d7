/**
 * The scales of the plots: round values from zero, and the moments that an operator's clock calls round.
 *
 * @module
 */

import type { TimeZone } from "../../contract/time_zone.ts";

/** Values of a scale, from 0 to its top, evenly. */
export interface Scale {
  readonly top: number;
  readonly ticks: readonly number[];
}

const stepsMax = 4;

/** The scale of whole counts: steps of 1, 2, 5, 10, 20, 25, 50, …, four of them at most. */
export function countScale(greatest: number): Scale {
  const least = Math.max(greatest, 1) / stepsMax;
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power)
    .find((one) => one >= least && Number.isInteger(one)) ?? 10 * power;
  return scaleOf(greatest, step);
}

const daySeconds = 86_400;
// Seconds that clocks count by.
const spans = [
  15,
  30,
  60,
  120,
  300,
  600,
  900,
  1_800,
  3_600,
  7_200,
  10_800,
  21_600,
  43_200,
  86_400,
  172_800,
  432_000,
];

/** The scale of times in seconds. */
export function spanScale(greatest: number): Scale {
  const step = spans.find((one) => one * stepsMax >= greatest);
  if (step !== undefined) return scaleOf(greatest, step);
  const days = countScale(greatest / daySeconds);
  return { top: days.top * daySeconds, ticks: days.ticks.map((day) => day * daySeconds) };
}

function scaleOf(greatest: number, step: number): Scale {
  const count = Math.max(1, Math.ceil(greatest / step));
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** A moment that is marked on an axis. */
export interface TimeTick {
  readonly atMs: number;
  readonly text: string;
  /** It is left out where there is little room. */
  readonly isMinor: boolean;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The round moments between two: each ten minutes of an hour, three hours of a day, midnight of a week, Monday of a month. */
export function timeTicks(fromMs: number, toMs: number, zone: TimeZone): TimeTick[] {
  const length = toMs - fromMs;
  const everyMs = length <= 2 * 60 * minuteMs
    ? 10 * minuteMs
    : length <= 2 * dayMs
    ? 3 * 60 * minuteMs
    : dayMs;
  const isMonth = length > 10 * dayMs;
  const found: TimeTick[] = [];
  const stepMs = Math.min(everyMs, 15 * minuteMs);
  for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs < toMs; atMs += stepMs) {
    // What the clocks show, as if it were UTC.
    const wallMs = atMs + zone.offsetMs(atMs);
    if (wallMs % everyMs !== 0) continue;
    const wall = new Date(wallMs);
    if (isMonth && wall.getUTCDay() !== 1) continue;
    const isMidnight = wallMs % dayMs === 0;
    const day = `${wall.getUTCDate()} ${months[wall.getUTCMonth()]}`;
    const isMinor = isMonth
      ? false
      : everyMs === dayMs
      ? wall.getUTCDate() % 2 === 1
      : wallMs % (2 * everyMs) !== 0;
    found.push({
      atMs,
      text: isMidnight ? day : wall.toISOString().slice(11, 16),
      isMinor: isMinor && !(isMidnight && everyMs < dayMs),
    });
  }
  return found;
}
