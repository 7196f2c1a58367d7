/**
 * Plots as plain SVG. The drawing stretches with the page while the texts around it, which are HTML, keep their size;
 * colours and dashes come from the style sheet.
 *
 * @module
 */

import type { TimeZone } from "../../contract/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import type { StepSpan } from "../../store/jobs/samples.ts";
import { countScale, type Scale, timeTicks } from "./scale.ts";

/** A line of a plot, a value for each step of its time; `null` where nothing is known. */
export interface Series {
  /** The class that gives it colour and dashes, and tells it from the others without colour. */
  readonly className: string;
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** The time that a plot covers, in steps, and whose clocks it is read by. */
export interface Axis extends StepSpan {
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
  { unit, scale: scaleOf = countScale, ...words }: Words & {
    /** A value of the scale as text. */
    readonly unit: (value: number) => string;
    /** For the greatest value; left out: of whole counts. */
    readonly scale?: (greatest: number) => Scale;
  },
): Markup {
  const { top, ticks } = scaleOf(
    Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))),
  );
  const y = (value: number) => round(height - (value / top) * height);
  const keys = series.length > 1
    ? series.map(({ className, name }) => key(name, markup`<path class="${className}" d="M0 6H32"/>`))
    : [];
  return figure(axis, keys, words, {
    className: "lines",
    scale: markup`<svg class="scale" aria-hidden="true">${
      ticks.map((value) => markup`<text x="100%" y="${y(value)}%" dy=".35em">${unit(value)}</text>`)
    }</svg>`,
    grid: markup`${
      ticks.map((value) => markup`<line class="grid" x1="0" x2="100%" y1="${y(value)}%" y2="${y(value)}%"/>`)
    }`,
    viewHeight: height,
    drawing: markup`${
      series.map(({ className, values }) =>
        markup`<path class="${className}" d="${path(axis, values, top)}"/>`
      )
    }`,
  });
}

/** A strip of states over time; `null` where nothing is known. */
export function stripPlot(
  axis: Axis,
  states: readonly (string | null)[],
  { names, ...words }: Words & {
    /** The states by class, for the key. */
    readonly names: Readonly<Record<string, string>>;
  },
): Markup {
  const wide = width / axis.steps;
  const runs: { state: string; start: number; length: number }[] = [];
  for (const [index, state] of states.entries()) {
    const last = runs.at(-1);
    if (last?.state === (state ?? "unknown")) last.length += 1;
    else runs.push({ state: state ?? "unknown", start: index, length: 1 });
  }
  const keys = Object.entries(names).map(([className, name]) =>
    key(name, markup`<rect class="${className}" width="32" height="12"/>`)
  );
  return figure(axis, keys, words, {
    className: "strip",
    scale: markup`<span></span>`,
    grid: markup``,
    viewHeight: 20,
    drawing: markup`${
      runs.map(({ state, start, length }) =>
        // A bad state is drawn over the whole height, so that it is told from the good one without its colour.
        markup`<rect class="${state}" x="${round(start * wide)}" y="${
          state === "open" ? 0 : state === "unknown" ? 17 : 6
        }" width="${round(length * wide)}" height="${state === "open" ? 20 : state === "unknown" ? 3 : 14}"/>`
      )
    }`,
  });
}

interface Drawn {
  readonly className: string;
  readonly scale: Markup;
  readonly grid: Markup;
  readonly viewHeight: number;
  readonly drawing: Markup;
}

/** The drawing inside stretches; what is placed in percent around it keeps its size, without a style of its own. */
function figure(
  axis: Axis,
  keys: readonly Markup[],
  { id, title, description }: Words,
  drawn: Drawn,
): Markup {
  const { fromMs, stepMs, steps, zone } = axis;
  const lengthMs = stepMs * steps;
  const x = (atMs: number) => round(((atMs - fromMs) / lengthMs) * 100);
  const ticks = timeTicks(fromMs, fromMs + lengthMs, zone);
  const minor = (isMinor: boolean) => isMinor && markup` minor`;
  return markup`<figure><figcaption>${title}${keys}</figcaption>
<div class="plot ${drawn.className}">${drawn.scale}
<svg role="img" aria-labelledby="${id}-t ${id}-d"><title
 id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${drawn.grid}${
    ticks.map(({ atMs, isMinor }) =>
      markup`<line class="grid${minor(isMinor)}" x1="${x(atMs)}%" x2="${x(atMs)}%" y1="0" y2="100%"/>`
    )
  }
<svg width="100%" height="100%" viewBox="0 0 ${width} ${drawn.viewHeight}" preserveAspectRatio="none">${drawn.drawing}</svg></svg>
<svg class="ticks" aria-hidden="true">${
    // No text beside "now" that it would run into; on a phone that takes a sixth.
    ticks.filter(({ atMs }) => x(atMs) < 92).map(({ atMs, text, isMinor }) =>
      markup`<text${(isMinor || x(atMs) > 82) && markup` class="minor"`} x="${
        x(atMs)
      }%" y="1.3em">${text}</text>`
    )}<text class="now" x="100%" y="1.3em">now</text></svg></div></figure>`;
}

function key(name: string, sample: Markup): Markup {
  return markup`<span class="key"><svg viewBox="0 0 32 12" aria-hidden="true">${sample}</svg>${name}</span>`;
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
