/**
 * Counters, gauges and histograms in Prometheus's text format. This module uses no clock and no I/O.
 *
 * Families are bounded: label values come from fixed lists, and series beyond `seriesMax` are not rendered.
 */

import { escapeHelp, escapeLabel, type Labels, labelText, numberText } from "./metrics_text.ts";

/** The options of every family. */
interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  /** The label names, in output order. */
  readonly labels?: readonly string[];
}

/** A sample: name suffix, formatted labels, and value. */
type Sample = readonly [suffix: string, labels: string, value: number];

interface Family extends FamilyOptions {
  readonly type: "counter" | "gauge" | "histogram";
  samples(): Iterable<Sample>;
  /** Returns the values for `Registry.json`. */
  json(): unknown;
}

// More series than this mean that a label's values do not come from a fixed list.
const seriesMax = 2_000;

/** All families of a process. */
export class Registry {
  readonly #families: Family[] = [];

  #add<T extends Family>(family: T): T {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new TypeError(`The metric ${family.name} already exists`);
    }
    this.#families.push(family);
    return family;
  }

  /** Adds a counter, whose name must end in `_total`. Without `labels`, it starts at 0. */
  counter(options: FamilyOptions): Counter {
    return this.#add(new Counter(options));
  }

  /** Adds a gauge that is read on demand: one number, or one per value of its only label. */
  gauge(options: FamilyOptions, read: () => number | ReadonlyMap<string, number> | null): void {
    this.#add(new CallbackFamily("gauge", options, read));
  }

  /** Adds a gauge that is always 1 and publishes its labels. */
  info(options: FamilyOptions, labels: Labels): void {
    this.#add(new InfoFamily(options, labels));
  }

  /** Adds a counter that is maintained elsewhere, such as processor time. */
  externalCounter(options: FamilyOptions, read: () => number | null): void {
    this.#add(new CallbackFamily("counter", options, read));
  }

  /** Adds a histogram with ascending `buckets`. */
  histogram(options: FamilyOptions, buckets: readonly number[]): Histogram {
    return this.#add(new Histogram(options, buckets));
  }

  /** Renders all families in the text format. */
  text(): string {
    const lines: string[] = [];
    for (const family of this.#families) {
      const { name, help, type } = family;
      lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
      for (const [suffix, labels, value] of family.samples()) {
        lines.push(`${name}${suffix}${labels === "" ? "" : `{${labels}}`} ${numberText(value)}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  /** Returns the values of all families by name: a number, or numbers by label; histograms as count and sum. */
  json(): Record<string, unknown> {
    return Object.fromEntries(this.#families.map((family) => [family.name, family.json()]));
  }
}

/** A counter's series. Keep a reference to a series, because looking it up costs more than adding to it. */
export interface CounterSeries {
  /** The count, which only increases. */
  value: number;
}

/** See {@linkcode Registry.counter}. */
export class Counter implements Family {
  readonly type = "counter";
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, CounterSeries>();

  constructor({ name, help, labels = [] }: FamilyOptions) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    if (labels.length === 0) this.#series.set("", { value: 0 });
  }

  /** Adds to the series with these labels, which must be complete. */
  add(count: number, labels: Labels = {}): void {
    this.series(labels).value += count;
  }

  /** Returns the series with these labels; beyond `seriesMax`, a new one that is not rendered. */
  series(labels: Labels): CounterSeries {
    const key = labelText(this.#labels, labels);
    const existing = this.#series.get(key);
    if (existing !== undefined) return existing;
    const count = { value: 0 };
    if (this.#series.size < seriesMax) this.#series.set(key, count);
    return count;
  }

  /** Returns the sum of all series, or of those with these labels. */
  total(labels: Labels = {}): number {
    const wanted = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
    let sum = 0;
    for (const [key, { value }] of this.#series) {
      if (wanted.every((part) => `,${key},`.includes(`,${part},`))) sum += value;
    }
    return sum;
  }

  /** Returns the sums by the value of one label. */
  totalsBy(label: string): Map<string, number> {
    const sums = new Map<string, number>();
    for (const [key, { value }] of this.#series) {
      const labelValue = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(key)?.[1] ?? "";
      sums.set(labelValue, (sums.get(labelValue) ?? 0) + value);
    }
    return sums;
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { value }] of this.#series) yield ["", labels, value];
  }

  json(): unknown {
    if (this.#labels.length === 0) return this.#series.get("")?.value;
    return Object.fromEntries([...this.#series].map(([labels, { value }]) => [labels, value]));
  }
}

class InfoFamily implements Family {
  readonly type = "gauge";
  readonly name: string;
  readonly help: string;
  readonly #labels: Labels;

  constructor({ name, help }: FamilyOptions, labels: Labels) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
  }

  *samples(): Iterable<Sample> {
    yield ["", labelText(Object.keys(this.#labels), this.#labels), 1];
  }

  json(): unknown {
    return this.#labels;
  }
}

class CallbackFamily implements Family {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly #label: string;
  readonly #read: () => number | ReadonlyMap<string, number> | null;

  constructor(
    type: "counter" | "gauge",
    { name, help, labels = [] }: FamilyOptions,
    read: () => number | ReadonlyMap<string, number> | null,
  ) {
    this.type = type;
    this.name = name;
    this.help = help;
    this.#label = labels[0] ?? "";
    this.#read = read;
  }

  *samples(): Iterable<Sample> {
    const value = this.#read();
    if (typeof value === "number") yield ["", "", value];
    else if (value !== null) {
      for (const [label, one] of value) yield ["", labelText([this.#label], { [this.#label]: label }), one];
    }
  }

  json(): unknown {
    const value = this.#read();
    return value === null || typeof value === "number" ? finite(value) : Object.fromEntries(value);
  }
}

/** A histogram's series. */
export class HistogramSeries {
  /** The counts by bucket; the last bucket is above all bounds. */
  readonly counts: number[];
  sum = 0;
  readonly #buckets: readonly number[];

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.counts = new Array<number>(buckets.length + 1).fill(0);
  }

  /** Records an observation. */
  add(value: number): void {
    let bucket = 0;
    while (bucket < this.#buckets.length && value > (this.#buckets[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
  }
}

/** See {@linkcode Registry.histogram}. */
export class Histogram implements Family {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, HistogramSeries>();

  constructor({ name, help, labels = [] }: FamilyOptions, buckets: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    this.#buckets = buckets;
    if (labels.length === 0) this.#series.set("", new HistogramSeries(buckets));
  }

  /** Records an observation. */
  observe(value: number, labels: Labels = {}): void {
    this.series(labels).add(value);
  }

  /** Returns the series with these labels; beyond `seriesMax`, a new one that is not rendered. */
  series(labels: Labels): HistogramSeries {
    const key = labelText(this.#labels, labels);
    const existing = this.#series.get(key);
    if (existing !== undefined) return existing;
    const series = new HistogramSeries(this.#buckets);
    if (this.#series.size < seriesMax) this.#series.set(key, series);
    return series;
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { counts, sum }] of this.#series) {
      const labelPrefix = labels === "" ? "" : `${labels},`;
      let count = 0;
      for (const [index, one] of counts.entries()) {
        count += one;
        yield ["_bucket", `${labelPrefix}le="${numberText(this.#buckets[index] ?? Infinity)}"`, count];
      }
      yield ["_sum", labels, sum];
      yield ["_count", labels, count];
    }
  }

  json(): unknown {
    const entries = [...this.#series].map(([labels, { counts, sum }]) =>
      [labels, { count: counts.reduce((all, one) => all + one, 0), sum }] as const
    );
    return this.#labels.length === 0 ? entries[0]?.[1] : Object.fromEntries(entries);
  }
}

// JSON has no infinities.
function finite(value: number | null): number | null {
  return value === null || Number.isFinite(value) ? value : null;
}
