/**
 * Counters, gauges and histograms in Prometheus's text format. Pure: no clock and no I/O.
 *
 * Families are bounded: label values come from our own lists, and series beyond the bound are not counted.
 */

import { escapeHelp, escapeLabel, type Labels, labelText, numberText } from "./metrics_text.ts";

/** Options of every family. */
interface Described {
  readonly name: string;
  readonly help: string;
  /** In output order. */
  readonly labels?: readonly string[];
}

/** A name suffix, formatted labels, and the value. */
type Sample = readonly [suffix: string, labels: string, value: number];

interface Family extends Described {
  readonly type: "counter" | "gauge" | "histogram";
  samples(): Iterable<Sample>;
  /** The same without histograms. */
  json(): unknown;
}

// More series mean a label that is not from a list.
const seriesMax = 2_000;

/** All families of a process. */
export class Registry {
  readonly #families: Family[] = [];

  #add<T extends Family>(family: T): T {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new TypeError(`The metric ${family.name} is there already`);
    }
    this.#families.push(family);
    return family;
  }

  /** A counter; its name ends in `_total`. Without `labels` it starts at 0. */
  counter(described: Described): Counter {
    return this.#add(new Counter(described));
  }

  /** A gauge that is read on demand: one number, or one per value of its only label. */
  gauge(described: Described, read: () => number | ReadonlyMap<string, number> | null): void {
    this.#add(new ReadFamily("gauge", described, read));
  }

  /** A gauge that is always 1; its labels carry the information. */
  info(described: Described, labels: Labels): void {
    this.#add(new InfoFamily(described, labels));
  }

  /** A counter that is kept elsewhere, such as processor time. */
  readCounter(described: Described, read: () => number | null): void {
    this.#add(new ReadFamily("counter", described, read));
  }

  /** A histogram with ascending `buckets`. */
  histogram(described: Described, buckets: readonly number[]): Histogram {
    return this.#add(new Histogram(described, buckets));
  }

  /** Everything in the text format. */
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

  /** Everything by name: a number, or numbers by label; histograms as count and sum. */
  json(): Record<string, unknown> {
    return Object.fromEntries(this.#families.map((family) => [family.name, family.json()]));
  }
}

/** A counter's series; looking it up costs more than counting. */
export interface Count {
  /** Only grows. */
  value: number;
}

/** See {@linkcode Registry.counter}. */
export class Counter implements Family {
  readonly type = "counter";
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, Count>();

  constructor({ name, help, labels = [] }: Described) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    if (labels.length === 0) this.#series.set("", { value: 0 });
  }

  /** Adds to the series with these labels, which must be complete. */
  add(count: number, labels: Labels = {}): void {
    this.at(labels).value += count;
  }

  /** The series with these labels; beyond the bound a hidden one. */
  at(labels: Labels): Count {
    const key = labelText(this.#labels, labels);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const count = { value: 0 };
    if (this.#series.size < seriesMax) this.#series.set(key, count);
    return count;
  }

  /** The sum over all series, or those with these labels. */
  total(labels: Labels = {}): number {
    const wanted = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
    let sum = 0;
    for (const [key, { value }] of this.#series) {
      if (wanted.every((part) => `,${key},`.includes(`,${part},`))) sum += value;
    }
    return sum;
  }

  /** Sums by the value of one label. */
  totalsBy(label: string): Map<string, number> {
    const sums = new Map<string, number>();
    for (const [key, { value }] of this.#series) {
      const found = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(key)?.[1] ?? "";
      sums.set(found, (sums.get(found) ?? 0) + value);
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

  constructor({ name, help }: Described, labels: Labels) {
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

class ReadFamily implements Family {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly #label: string;
  readonly #read: () => number | ReadonlyMap<string, number> | null;

  constructor(
    type: "counter" | "gauge",
    { name, help, labels = [] }: Described,
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
export class Observations {
  /** By bucket; the last is above all. */
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
  readonly #series = new Map<string, Observations>();

  constructor({ name, help, labels = [] }: Described, buckets: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    this.#buckets = buckets;
    if (labels.length === 0) this.#series.set("", new Observations(buckets));
  }

  /** Records an observation. */
  observe(value: number, labels: Labels = {}): void {
    this.at(labels).add(value);
  }

  /** The series with these labels; beyond the bound a hidden one. */
  at(labels: Labels): Observations {
    const key = labelText(this.#labels, labels);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series = new Observations(this.#buckets);
    if (this.#series.size < seriesMax) this.#series.set(key, series);
    return series;
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { counts, sum }] of this.#series) {
      const before = labels === "" ? "" : `${labels},`;
      let count = 0;
      for (const [index, one] of counts.entries()) {
        count += one;
        yield ["_bucket", `${before}le="${numberText(this.#buckets[index] ?? Infinity)}"`, count];
      }
      yield ["_sum", labels, sum];
      yield ["_count", labels, count];
    }
  }

  json(): unknown {
    const each = [...this.#series].map(([labels, { counts, sum }]) =>
      [labels, { count: counts.reduce((all, one) => all + one, 0), sum }] as const
    );
    return this.#labels.length === 0 ? each[0]?.[1] : Object.fromEntries(each);
  }
}

// JSON has no infinities.
function finite(value: number | null): number | null {
  return value === null || Number.isFinite(value) ? value : null;
}
