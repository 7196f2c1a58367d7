/**
 * A line chart: a line a series, a point with its spread a measurement. An SVG that needs nothing else, for light pages
 * and dark ones.
 *
 * @module
 */

import { escapeXml } from "./xml.ts";

/** What was measured at a place of the horizontal axis. */
export interface Point {
  readonly x: number;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** A chart. Both axes begin at 0. */
export interface LineChart {
  readonly title: string;
  /** With its unit. */
  readonly xLabel: string;
  /** With its unit. */
  readonly yLabel: string;
  readonly series: readonly { readonly name: string; readonly points: readonly Point[] }[];
}

const [width, height] = [680, 380];
const [left, right, top, bottom] = [80, 20, 64, 54];
const colours = ["#3b7dd8", "#d9822b", "#2e9e5b", "#b04bc4", "#c9a400", "#888f98"];
const ticksAbout = 5;

/** The axis's ticks from 0 up: steps of 1, 2 or 5 times a power of ten, the last one not below `highest`. */
export function ticksTo(highest: number): number[] {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / ticksAbout;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((times) => times * power >= rough * 0.999) ?? 10);
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, index) => index * step);
}

/** A number with as many digits as its size needs; millions and thousands in words of one letter. */
export function shortNumber(value: number): string {
  for (const [size, letter] of [[1e6, " M"], [1e4, " k"]] as const) {
    if (Math.abs(value) >= size) {
      return `${Number((value / (letter === " M" ? 1e6 : 1e3)).toPrecision(3))}${letter}`;
    }
  }
  return Number(value.toPrecision(3)).toLocaleString("en");
}

/** Draws it. */
export function renderLines({ title, xLabel, yLabel, series }: LineChart): string {
  const all = series.flatMap(({ points }) => points);
  const yTicks = ticksTo(Math.max(...all.map(({ highest }) => highest)));
  const xTicks = ticksTo(Math.max(...all.map(({ x }) => x)));
  const xOf = (x: number) => (left + x / (xTicks.at(-1) ?? 1) * (width - left - right)).toFixed(1);
  const yOf = (y: number) =>
    (height - bottom - y / (yTicks.at(-1) ?? 1) * (height - top - bottom)).toFixed(1);
  const text = (x: number | string, y: number | string, words: string, rest = "") =>
    `<text x="${x}" y="${y}"${rest}>${escapeXml(words)}</text>`;
  const parts = [
    text(left, 22, title, ' class="title"'),
    ...yTicks.flatMap((tick) => [
      `<path class="grid" d="M${left} ${yOf(tick)}H${width - right}"/>`,
      text(left - 8, Number(yOf(tick)) + 4, shortNumber(tick), ' text-anchor="end"'),
    ]),
    ...xTicks.map((tick) =>
      text(xOf(tick), height - bottom + 18, shortNumber(tick), ' text-anchor="middle"')
    ),
    text((left + width - right) / 2, height - 12, xLabel, ' text-anchor="middle"'),
    text(
      0,
      0,
      yLabel,
      ` text-anchor="middle" transform="translate(18 ${(top + height - bottom) / 2}) rotate(-90)"`,
    ),
    ...series.flatMap(({ name, points }, index) => {
      const colour = colours[index % colours.length] as string;
      const legendX = left + index * ((width - left - right) / Math.max(3, series.length));
      return [
        `<path d="M${legendX} 41h18" stroke="${colour}" stroke-width="3"/>`,
        text(legendX + 24, 45, name),
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${
          points.map(({ x, median }) => `${xOf(x)},${yOf(median)}`).join(" ")
        }"/>`,
        ...points.map(({ x, median, lowest, highest }) =>
          `<g stroke="${colour}" fill="${colour}"><title>${
            escapeXml(
              `${name}, ${shortNumber(x)}: ${shortNumber(median)} (${shortNumber(lowest)}–${
                shortNumber(highest)
              })`,
            )
          }</title><path d="M${xOf(x)} ${yOf(lowest)}V${yOf(highest)}" stroke-width="1.5"/><circle cx="${
            xOf(x)
          }" cy="${yOf(median)}" r="3.5"/></g>`
        ),
      ];
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" \
font-family="sans-serif" font-size="12" role="img" aria-label="${escapeXml(title)}">
<style>
text { fill: #24292f } .title { font-size: 15px; font-weight: bold } .page { fill: #fff } .grid { stroke: #d8dee4 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #30363d } }
</style>
<rect class="page" width="${width}" height="${height}"/>
${parts.join("\n")}
</svg>
`;
}
