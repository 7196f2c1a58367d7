/**
 * Plots as plain SVG. The drawing stretches with the page while the texts around it, which are HTML, keep their size;
 * colours and dashes come from the style sheet.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { StepSpan } from "../../store/jobs/samples.ts";

/** A line of a plot, a value for each step of its time; `null` where nothing is known. */
export interface Series {
  /** The class that gives it colour and dashes, and tells it from the others without colour. */
  readonly className: "accepted" | "refused" | "delivered" | "oldest";
  readonly name: string;
  readonly values: readonly (number | null)[];
}

// Units of the drawing; it is stretched to its box.
const width = 1_000;
const height = 100;

/** Lines over time, from zero. */
export function linePlot(
  axis: StepSpan,
  series: readonly Series[],
  { id, title, description, unit, top: topOf = niceTop }: {
    readonly id: string;
    readonly title: string;
    /** What is to be seen, in a sentence, for who does not see it. */
    readonly description: string;
    /** A value of the scale as text. */
    readonly unit: (value: number) => string;
    /** The end of the scale for the greatest value; left out: of 1, 2, 5, 10, … */
    readonly top?: (value: number) => number;
  },
): Markup {
  const top = topOf(Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  return markup`<figure><figcaption>${title}${
    series.length > 1 && series.map(({ className, name }) => key(className, name))
  }</figcaption>
<div class="plot"><div class="scale" aria-hidden="true">${
    [1, 0.5, 0].map((part) => markup`<span>${unit(part * top)}</span>`)
  }</div>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-t ${id}-d"><title
 id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
<path class="grid" d="M0 ${height / 2}H${width}"/>
${series.map(({ className, values }) => markup`<path class="${className}" d="${path(axis, values, top)}"/>`)}
</svg>${ticks(axis)}</div></figure>`;
}

function key(className: string, name: string): Markup {
  return markup`<span class="key"><svg viewBox="0 0 32 12" aria-hidden="true"><path class="${className}" d="M0 6H32"/></svg>${name}</span>`;
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
    const y = round(height - (value / top) * (height - 2) - 1);
    const isAlone = !isDown && (values[index + 1] ?? null) === null;
    text += isAlone
      ? `M${round(index * wide)} ${y}h${round(wide)}`
      : `${isDown ? "L" : "M"}${round((index + 0.5) * wide)} ${y}`;
    isDown = true;
  }
  return text;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** The next of 1, 2, 5, 10, 20, 50, … */
export function niceTop(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((factor) => factor * power >= value) ?? 10) * power;
}

/** A strip of states over time; `null` where nothing is known. */
export function stripPlot(
  { steps, ...axis }: StepSpan,
  states: readonly (string | null)[],
  { id, title, description, names }: {
    readonly id: string;
    readonly title: string;
    readonly description: string;
    /** The states by class, for the key. */
    readonly names: Readonly<Record<string, string>>;
  },
): Markup {
  const wide = width / steps;
  const runs: { state: string; start: number; length: number }[] = [];
  for (const [index, state] of states.entries()) {
    const last = runs.at(-1);
    if (last?.state === (state ?? "unknown")) last.length += 1;
    else runs.push({ state: state ?? "unknown", start: index, length: 1 });
  }
  return markup`<figure><figcaption>${title}${
    Object.entries(names).map(([className, name]) =>
      markup`<span class="key"><svg viewBox="0 0 32 12" aria-hidden="true"><rect class="${className}" width="32" height="12"/></svg>${name}</span>`
    )
  }</figcaption>
<div class="plot strip"><div class="scale" aria-hidden="true"></div>
<svg viewBox="0 0 ${width} 20" preserveAspectRatio="none" role="img" aria-labelledby="${id}-t ${id}-d"><title
 id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${
    runs.map(({ state, start, length }) =>
      // A bad state is drawn over the whole height, so that it is told from the good one without its colour.
      markup`<rect class="${state}" x="${round(start * wide)}" y="${
        state === "open" ? 0 : state === "unknown" ? 17 : 6
      }" width="${round(length * wide)}" height="${state === "open" ? 20 : state === "unknown" ? 3 : 14}"/>`
    )
  }</svg>${ticks({ steps, ...axis })}</div></figure>`;
}

const tickCount = 4;

function ticks({ fromMs, stepMs, steps }: StepSpan): Markup {
  const isLong = stepMs * steps > 2 * 86_400_000;
  const labels = Array.from({ length: tickCount + 1 }, (_, index) => {
    if (index === tickCount) return "now";
    const iso = new Date(fromMs + (index / tickCount) * steps * stepMs).toISOString();
    return isLong ? iso.slice(5, 10) : iso.slice(11, 16);
  });
  return markup`<div class="ticks" aria-hidden="true">${
    labels.map((label) => markup`<span>${label}</span>`)
  }</div>`;
}
