/** Renders the history as plots, each with a text description. */

import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { formatCount, formatSeconds, type PageClock, pluralize } from "./text.ts";
import { readSteps, type Sample, type StepSpan } from "../../store/jobs/samples.ts";
import type { Pool } from "../../store/pool.ts";

/** Evenly spaced values from 0 to `top`. */
interface Scale {
  readonly top: number;
  readonly ticks: readonly number[];
}

const stepsMax = 4;
const daySeconds = 86_400;

/** The tick distances to choose from, for counts and for durations in seconds. */
const countTickSteps = Array.from(
  { length: 12 },
  (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power),
)
  .flat();
const durationTickSteps = [
  15,
  30,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60),
  ...countTickSteps.map((days) => days * daySeconds),
];

/** Returns a scale from 0 to at least `maximum`, in at most four steps. */
function scaleUpTo(maximum: number, steps: readonly number[]): Scale {
  const step = steps.find((candidate) => candidate * stepsMax >= maximum) ?? maximum;
  const count = Math.max(1, Math.ceil(maximum / step));
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** A tick on the time axis. */
interface TimeTick {
  readonly atMs: number;
  readonly text: string;
  /** Whether narrow screens hide the tick. */
  readonly isMinor: boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Returns ticks at round local times: every 10 minutes in an hour, every 3 hours in a day, daily in a week, on Mondays in a month. */
export function timeTicks(fromMs: number, toMs: number, zone: TimeZone): TimeTick[] {
  const length = toMs - fromMs;
  const isMonth = length > 10 * dayMs;
  const tickMs = length <= 2 * hourMs ? 10 * minuteMs : length <= 2 * dayMs ? 3 * hourMs : dayMs;
  const stepMs = Math.min(tickMs, 15 * minuteMs);
  const ticks: TimeTick[] = [];
  for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs < toMs; atMs += stepMs) {
    // The local time, as if it were UTC.
    const localMs = atMs + zone.offsetMs(atMs);
    const localTime = new Date(localMs);
    if (localMs % tickMs !== 0 || (isMonth && localTime.getUTCDay() !== 1)) continue;
    const isMidnight = localMs % dayMs === 0;
    ticks.push({
      atMs,
      text: isMidnight
        ? `${localTime.getUTCDate()} ${months[localTime.getUTCMonth()]}`
        : localTime.toISOString().slice(11, 16),
      isMinor: !isMonth && localMs % (2 * tickMs) !== 0 && !(isMidnight && tickMs < dayMs),
    });
  }
  return ticks;
}

/** A line in a plot, with a value for each step; `null` if unknown. */
interface Series {
  /** The CSS class that sets the line's color and dash pattern. */
  readonly className: string;
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** The time axis: its steps, and the time zone of its labels. */
interface Axis extends StepSpan {
  readonly zone: TimeZone;
}

interface Labels {
  readonly id: string;
  readonly title: string;
  /** One sentence for screen readers. */
  readonly description: string;
}

// The SVG's internal units; the browser stretches the SVG to its box.
const width = 1_000;
const height = 100;

/** Renders lines over time, with a scale that begins at zero. */
export function linePlot(
  axis: Axis,
  series: readonly Series[],
  { id, title, description, formatValue, steps: scaleSteps = countTickSteps }: Labels & {
    /** Formats a value on the scale. */
    readonly formatValue: (value: number) => string;
    /** The tick distances to choose from; default: whole counts. */
    readonly steps?: readonly number[];
  },
): Markup {
  const maximum = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const { top, ticks } = scaleUpTo(maximum, scaleSteps);
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
    ticks.map((value) => markup`<text x="100%" y="${y(value)}%" dy=".35em">${formatValue(value)}</text>`)
  }</svg>
<svg role="img" aria-labelledby="${id}-t ${id}-d"><title
 id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${ticks.map((value) => markup`<line class="grid" x1="0" x2="100%" y1="${y(value)}%" y2="${y(value)}%"/>`)}${
    times.map(({ atMs, isMinor }) =>
      markup`<line class="grid${isMinor && " minor"}" x1="${x(atMs)}%" x2="${x(atMs)}%" y1="0" y2="100%"/>`
    )
  }
<svg width="100%" height="100%" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${
    series.map(({ className, values }) =>
      markup`<path class="${className}" d="${linePath(axis, values, top)}"/>`
    )
  }</svg></svg>
<svg class="ticks" aria-hidden="true">${
    // Leaves room for "now", which needs a sixth of the width on a phone.
    times.filter(({ atMs }) => x(atMs) < 92).map(({ atMs, text, isMinor }) =>
      markup`<text${(isMinor || x(atMs) > 82) && markup` class="minor"`} x="${
        x(atMs)
      }%" y="1.3em">${text}</text>`
    )}<text class="now" x="100%" y="1.3em">now</text></svg></div></figure>`;
}

/** Returns the SVG path for a line through the middle of each step; an isolated step becomes a dash. */
function linePath({ steps }: StepSpan, values: readonly (number | null)[], top: number): string {
  const stepWidth = width / steps;
  let text = "";
  let isDrawing = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isDrawing = false;
      continue;
    }
    const y = round(height - (value / top) * height);
    const isIsolated = !isDrawing && (values[index + 1] ?? null) === null;
    text += isIsolated
      ? `M${round(index * stepWidth)} ${y}h${round(stepWidth)}`
      : `${isDrawing ? "L" : "M"}${round((index + 0.5) * stepWidth)} ${y}`;
    isDrawing = true;
  }
  return text;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A selectable time range and the length of its steps. */
interface Range {
  readonly text: string;
  readonly spanMs: number;
  readonly stepMs: number;
  /** The length of a step, as text. */
  readonly stepText: string;
}

/** The ranges, by their names in the URL. */
export const ranges = {
  "1h": { text: "1 hour", spanMs: hourMs, stepMs: minuteMs, stepText: "minute" },
  "24h": { text: "24 hours", spanMs: 24 * hourMs, stepMs: 10 * minuteMs, stepText: "10 minutes" },
  "7d": { text: "7 days", spanMs: 7 * 24 * hourMs, stepMs: hourMs, stepText: "hour" },
  "30d": { text: "30 days", spanMs: 30 * 24 * hourMs, stepMs: 6 * hourMs, stepText: "6 hours" },
} as const satisfies Readonly<Record<string, Range>>;

export type RangeName = keyof typeof ranges;

/** Renders the plots for a range that ends now. */
export async function renderHistory(
  pool: Pool,
  { range, clock }: { readonly range: Range; readonly clock: PageClock },
): Promise<Markup> {
  const { stepMs, spanMs } = range;
  // The last step is the current, incomplete one.
  const axis: Axis = {
    zone: clock.zone,
    fromMs: (Math.floor(clock.nowMs / stepMs) + 1) * stepMs - spanMs,
    stepMs,
    steps: spanMs / stepMs,
  };
  const samples = await readSteps(pool, axis);
  if (samples.every((step) => step === null)) {
    return markup`<p class="quiet">No figures for this period yet: each process records its figures once a minute.</p>`;
  }
  return markup`${flowPlot(samples, axis, range.stepText)}${deadLettersPlot(samples, axis, range.stepText)}${
    oldestWaitingPlot(samples, axis)
  }`;
}

function flowPlot(samples: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const names = ["accepted", "refused", "delivered"] as const;
  const series = names.map((name): Series => ({
    className: name,
    name,
    values: completeValues(samples, (step) => step[name]),
  }));
  return linePlot(axis, series, {
    id: "flow",
    title: `Posts and deliveries per ${step}`,
    description: `Maximum per ${step}: ${
      series.map(({ name, values }) =>
        `${formatCount(Math.max(0, ...values.map((value) => value ?? 0)))} ${name}`
      )
        .join(", ")
    }.`,
    formatValue: formatCount,
  });
}

/** Returns the values of a series without the incomplete last step, which would look like a drop. */
function completeValues(
  samples: readonly (Sample | null)[],
  valueOf: (step: Sample) => number,
): (number | null)[] {
  return samples.map((step, index) => step === null || index === samples.length - 1 ? null : valueOf(step));
}

function deadLettersPlot(samples: readonly (Sample | null)[], axis: Axis, step: string): Markup {
  const total = samples.reduce((sum, sample) => sum + (sample?.died ?? 0), 0);
  if (total === 0) return markup`<p class="quiet">No event became a dead letter in this period.</p>`;
  return linePlot(axis, [{
    className: "died",
    name: "dead",
    values: completeValues(samples, ({ died }) => died),
  }], {
    id: "deaths",
    title: `Dead letters per ${step}: ${formatCount(total)} in total`,
    description: `${pluralize(total, "event")} became dead letters in total.`,
    formatValue: formatCount,
  });
}

function oldestWaitingPlot(samples: readonly (Sample | null)[], axis: Axis): Markup {
  const values = samples.map((step) => step === null ? null : step.oldestPendingS);
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  return linePlot(axis, [{ className: "oldest", name: "oldest waiting", values }], {
    id: "oldest",
    title: "How long the oldest event has waited",
    description: `Maximum: ${formatSeconds(top)}.`,
    formatValue: formatSeconds,
    steps: durationTickSteps,
  });
}
