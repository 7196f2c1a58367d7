/** The past as plots, each with its figures in a sentence. */

import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { count, counted, type PageClock, span } from "./text.ts";
import { readSteps, type Sample, type StepSpan } from "../../store/jobs/samples.ts";
import type { Pool } from "../../store/pool.ts";

/** Values of a scale, from 0 to its top, evenly. */
interface Scale {
  readonly top: number;
  readonly ticks: readonly number[];
}

const stepsMax = 4;
const daySeconds = 86_400;

/** Distances between the values of a scale: of whole counts, and of times in seconds as clocks count them. */
const countSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power))
  .flat();
const spanSteps = [
  ...[15, 30],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60),
  ...countSteps.map((days) => days * daySeconds),
];

/** The scale to a greatest value, in four steps at most. */
function scaleTo(greatest: number, steps: readonly number[]): Scale {
  const step = steps.find((one) => one * stepsMax >= greatest) ?? greatest;
  const count = Math.max(1, Math.ceil(greatest / step));
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** A moment that is marked on an axis. */
interface TimeTick {
  readonly atMs: number;
  readonly text: string;
  /** It is left out where there is little room. */
  readonly isMinor: boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The round moments between two: each ten minutes of an hour, three hours of a day, midnight of a week, Monday of a month. */
export function timeTicks(fromMs: number, toMs: number, zone: TimeZone): TimeTick[] {
  const length = toMs - fromMs;
  const isMonth = length > 10 * dayMs;
  const everyMs = length <= 2 * hourMs ? 10 * minuteMs : length <= 2 * dayMs ? 3 * hourMs : dayMs;
  const stepMs = Math.min(everyMs, 15 * minuteMs);
  const found: TimeTick[] = [];
  for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs < toMs; atMs += stepMs) {
    // What the clocks show, as if it were UTC.
    const wallMs = atMs + zone.offsetMs(atMs);
    const wall = new Date(wallMs);
    if (wallMs % everyMs !== 0 || (isMonth && wall.getUTCDay() !== 1)) continue;
    const isMidnight = wallMs % dayMs === 0;
    found.push({
      atMs,
      text: isMidnight
        ? `${wall.getUTCDate()} ${months[wall.getUTCMonth()]}`
        : wall.toISOString().slice(11, 16),
      isMinor: !isMonth && wallMs % (2 * everyMs) !== 0 && !(isMidnight && everyMs < dayMs),
    });
  }
  return found;
}

/** A line of a plot, a value for each step of its time; `null` where nothing is known. */
interface Series {
  /** The class that gives it colour and dashes, and tells it from the others without colour. */
  readonly className: string;
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** The time that a plot covers, in steps, and whose clocks it is read by. */
interface Axis extends StepSpan {
  readonly zone: TimeZone;
}

interface Words {
  readonly id: string;
  readonly title: string;
  /** What is to be seen, in a sentence, for who does not see it. */
  readonly description: string;
}

// Units of the drawing; it is stretched to its box.
const width = 1_000;
const height = 100;

/** Lines over time, from zero. */
export function linePlot(
  axis: Axis,
  series: readonly Series[],
  { id, title, description, unit, steps: scaleSteps = countSteps }: Words & {
    /** A value of the scale as text. */
    readonly unit: (value: number) => string;
    /** Of the scale; left out: of whole counts. */
    readonly steps?: readonly number[];
  },
): Markup {
  const greatest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const { top, ticks } = scaleTo(greatest, scaleSteps);
  const y = (value: number) => round(height - (value / top) * height);
  const { fromMs, stepMs, steps, zone } = axis;
  const x = (atMs: number) => round(((atMs - fromMs) / (stepMs * steps)) * 100);
  const times = timeTicks(fromMs, fromMs + stepMs * steps, zone);
  return markup`<figure><figcaption>${title}${
    series.length > 1 &&
    series.map(({ className, name }) =>
      markup`<span class="key"><svg viewBox="0 0 32 12" aria-hidden="true"><path class="${className}" d="M0 6H32"/></svg>${name}</span>`
    )
  }</figcaption>
<div class="plot lines"><svg class="scale" aria-hidden="true">${
    ticks.map((value) => markup`<text x="100%" y="${y(value)}%" dy=".35em">${unit(value)}</text>`)
  }</svg>
<svg role="img" aria-labelledby="${id}-t ${id}-d"><title
 id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${ticks.map((value) => markup`<line class="grid" x1="0" x2="100%" y1="${y(value)}%" y2="${y(value)}%"/>`)}${
    times.map(({ atMs, isMinor }) =>
      markup`<line class="grid${isMinor && " minor"}" x1="${x(atMs)}%" x2="${x(atMs)}%" y1="0" y2="100%"/>`
    )
  }
<svg width="100%" height="100%" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${
    series.map(({ className, values }) => markup`<path class="${className}" d="${path(axis, values, top)}"/>`)
  }</svg></svg>
<svg class="ticks" aria-hidden="true">${
    // No text beside "now" that it would run into; on a phone that takes a sixth.
    times.filter(({ atMs }) => x(atMs) < 92).map(({ atMs, text, isMinor }) =>
      markup`<text${(isMinor || x(atMs) > 82) && markup` class="minor"`} x="${
        x(atMs)
      }%" y="1.3em">${text}</text>`
    )}<text class="now" x="100%" y="1.3em">now</text></svg></div></figure>`;
}

/** The path of a line: a step is drawn at its middle, and one alone between gaps as a dash. */
function path({ steps }: StepSpan, values: readonly (number | null)[], top: number): string {
  const wide = width / steps;
  let text = "";
  let isDown = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isDown = false;
      continue;
    }
    const y = round(height - (value / top) * height);
    const isAlone = !isDown && (values[index + 1] ?? null) === null;
    text += isAlone
      ? `M${round(index * wide)} ${y}h${round(wide)}`
      : `${isDown ? "L" : "M"}${round((index + 0.5) * wide)} ${y}`;
    isDown = true;
  }
  return text;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A range of time that can be chosen, and the length of its steps. */
interface Range {
  readonly text: string;
  readonly spanMs: number;
  readonly stepMs: number;
  /** The step in words. */
  readonly stepText: string;
}

/** The ranges by their names in the address. */
export const ranges = {
  "1h": { text: "1 hour", spanMs: hourMs, stepMs: minuteMs, stepText: "minute" },
  "24h": { text: "24 hours", spanMs: 24 * hourMs, stepMs: 10 * minuteMs, stepText: "10 minutes" },
  "7d": { text: "7 days", spanMs: 7 * 24 * hourMs, stepMs: hourMs, stepText: "hour" },
  "30d": { text: "30 days", spanMs: 30 * 24 * hourMs, stepMs: 6 * hourMs, stepText: "6 hours" },
} as const satisfies Readonly<Record<string, Range>>;

/** The name of a range. */
export type RangeName = keyof typeof ranges;

/** The plots of a range that ends now. */
export async function history(
  pool: Pool,
  { range, clock }: { readonly range: Range; readonly clock: PageClock },
): Promise<Markup> {
  const { stepMs, spanMs } = range;
  // The step that has begun is the last one.
  const axis: Axis = {
    zone: clock.zone,
    fromMs: (Math.floor(clock.nowMs / stepMs) + 1) * stepMs - spanMs,
    stepMs,
    steps: spanMs / stepMs,
  };
  const found = await readSteps(pool, axis);
  if (found.every((step) => step === null)) {
    return markup`<p class="quiet">There are no figures of this time yet: each process leaves its own once a minute.</p>`;
  }
  return markup`${flow(found, axis, range.stepText)}${deaths(found, axis, range.stepText)}${
    oldest(found, axis)
  }`;
}

function flow(found: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const names = ["accepted", "refused", "delivered"] as const;
  const series = names.map((name): Series => ({
    className: name,
    name,
    values: countsOf(found, (step) => step[name]),
  }));
  return linePlot(axis, series, {
    id: "flow",
    title: `Posts and deliveries in each ${step}`,
    description: `At most ${
      series.map(({ name, values }) => `${count(Math.max(0, ...values.map((value) => value ?? 0)))} ${name}`)
        .join(", ")
    } in one.`,
    unit: count,
  });
}

/** The last step has only begun: what it has so far would look like a fall. */
function countsOf(found: readonly (Sample | null)[], of: (step: Sample) => number): (number | null)[] {
  return found.map((step, index) => step === null || index === found.length - 1 ? null : of(step));
}

function deaths(found: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const total = found.reduce((sum, one) => sum + (one?.died ?? 0), 0);
  if (total === 0) return markup`<p class="quiet">No event was given up in this time.</p>`;
  return linePlot(axis, [{
    className: "died",
    name: "given up",
    values: countsOf(found, ({ died }) => died),
  }], {
    id: "deaths",
    title: `Given up in each ${step}: ${count(total)}`,
    description: `In all ${counted(total, "event")} became dead letters.`,
    unit: count,
  });
}

function oldest(found: readonly (Sample | null)[], axis: Axis): Markup {
  const values = found.map((step) => step === null ? null : step.oldestPendingS);
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  return linePlot(axis, [{ className: "oldest", name: "oldest waiting", values }], {
    id: "oldest",
    title: "How long the oldest event has waited",
    description: `At most ${span(top)}.`,
    unit: span,
    steps: spanSteps,
  });
}
