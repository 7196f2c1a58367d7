/**
 * The figures of a process at one moment, and those of several processes as one. Pure.
 *
 * @module
 */

import { type Metric, metrics } from "./metrics.ts";
import { escapeHelp, numberText } from "./metrics_text.ts";

/** A metric with all its samples. It crosses from process to process as JSON, so an infinite value is `null` there. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Each a suffix of the name, the labels as text, and the value. */
  readonly samples: readonly (readonly [suffix: string, labels: string, value: number])[];
}

/** Prometheus's text format, version 0.0.4. */
export function figuresText(figures: readonly Figure[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of figures) {
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
    for (const [suffix, labels, value] of samples) {
      lines.push(`${name}${suffix}${labels === "" ? "" : `{${labels}}`} ${numberText(value ?? Infinity)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * The figures of processes that do one machine's work: what is counted is summed, and so is what each has of its own; of what
 * all look at, or of which the worst is wanted, {@linkcode Metric.across} says which one.
 */
export function together(all: readonly (readonly Figure[])[]): Figure[] {
  const merged = new Map<string, Figure & { values: Map<string, Figure["samples"][number]> }>();
  for (const { name, help, type, samples } of all.flat()) {
    let figure = merged.get(name);
    if (figure === undefined) merged.set(name, figure = { name, help, type, samples: [], values: new Map() });
    const put = acrossOf(name, type);
    for (const [suffix, labels, value] of samples) {
      const key = `${suffix}{${labels}`;
      const known = figure.values.get(key)?.[2];
      const one = value ?? Infinity;
      figure.values.set(key, [suffix, labels, known === undefined ? one : put(known, one)]);
    }
  }
  return [...merged.values()].map(({ name, help, type, values }) => ({
    name,
    help,
    type,
    samples: [...values.values()],
  }));
}

/** What stays when a process has ended: a sum of counts must not fall. */
export function counted(figures: readonly Figure[]): Figure[] {
  return figures.filter(({ type }) => type !== "gauge");
}

const ways = {
  sum: (one: number, other: number) => one + other,
  highest: Math.max,
  lowest: Math.min,
} as const satisfies Record<string, (one: number, other: number) => number>;

function acrossOf(name: string, type: Figure["type"]): (one: number, other: number) => number {
  if (type !== "gauge") return ways.sum;
  const known: Readonly<Record<string, Metric | undefined>> = metrics;
  return ways[known[name]?.across ?? "highest"];
}
