/**
 * Counters, gauges and histograms, and their text for Prometheus. Pure: no clock and no I/O; what is measured elsewhere
 * is read when it is asked for.
 *
 * Every family is bounded: labels come from lists of our own, never from what a request says, and beyond the bound a
 * further combination is not counted.
 *
 * @module
 */

/** Label values by name. */
export type Labels = Readonly<Record<string, string>>;

/** What every family has. */
interface Described {
  readonly name: string;
  readonly help: string;
  /** In the order in which they are written. */
  readonly labels?: readonly string[];
}

interface Family extends Described {
  readonly type: "counter" | "gauge" | "histogram";
  /** The samples: suffix, labels as text, value. */
  samples(): Iterable<readonly [string, string, number]>;
  /** The same for a person or a program that knows no histograms. */
  json(): unknown;
}

// A family with more is a mistake: a label that is not from a list.
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

  /** A count that only grows; its name ends in `_total`. Without `labels` it is shown from the start, as 0. */
  counter(described: Described): Counter {
    return this.#add(new Counter(described));
  }

  /** A figure that is read when it is asked for: one number, or one by the value of its only label. */
  gauge(described: Described, read: () => number | ReadonlyMap<string, number> | null): void {
    this.#add(new ReadFamily("gauge", described, read));
  }

  /** A gauge that is always 1 and says something by its labels, which it is given once. */
  info(described: Described, labels: Labels): void {
    this.#add(new InfoFamily(described, labels));
  }

  /** A count that is kept elsewhere, such as processor time. */
  readCounter(described: Described, read: () => number | null): void {
    this.#add(new ReadFamily("counter", described, read));
  }

  /** How many observations are at most as large as each of `buckets`, which go up. */
  histogram(described: Described, buckets: readonly number[]): Histogram {
    return this.#add(new Histogram(described, buckets));
  }

  /** All of it in Prometheus's text format, version 0.0.4. */
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

  /** All of it by name: a number, or numbers by their labels; a histogram as its count and sum. */
  json(): Record<string, unknown> {
    return Object.fromEntries(this.#families.map((family) => [family.name, family.json()]));
  }
}

/** See {@linkcode Registry.counter}. */
export class Counter implements Family {
  readonly type = "counter";
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, number>();

  constructor({ name, help, labels = [] }: Described) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    if (labels.length === 0) this.#series.set("", 0);
  }

  /** Adds to the series with these labels; all that the family has are needed. */
  add(count: number, labels: Labels = {}): void {
    const key = labelText(this.#labels, labels);
    const before = this.#series.get(key);
    if (before === undefined && this.#series.size >= seriesMax) return;
    this.#series.set(key, (before ?? 0) + count);
  }

  /** The sum over all series, or over those that have these labels. */
  total(labels: Labels = {}): number {
    const wanted = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
    let sum = 0;
    for (const [key, value] of this.#series) {
      if (wanted.every((part) => `,${key},`.includes(`,${part},`))) sum += value;
    }
    return sum;
  }

  *samples(): Iterable<readonly [string, string, number]> {
    for (const [labels, value] of this.#series) yield ["", labels, value];
  }

  json(): unknown {
    return this.#labels.length === 0 ? this.#series.get("") : Object.fromEntries(this.#series);
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

  *samples(): Iterable<readonly [string, string, number]> {
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

  *samples(): Iterable<readonly [string, string, number]> {
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

interface Series {
  /** By bucket, and above the last. */
  readonly counts: number[];
  sum: number;
}

/** See {@linkcode Registry.histogram}. */
export class Histogram implements Family {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor({ name, help, labels = [] }: Described, buckets: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
    this.#buckets = buckets;
    if (labels.length === 0) this.#series.set("", this.#empty());
  }

  #empty(): Series {
    return { counts: new Array<number>(this.#buckets.length + 1).fill(0), sum: 0 };
  }

  /** Counts an observation. */
  observe(value: number, labels: Labels = {}): void {
    const key = labelText(this.#labels, labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      if (this.#series.size >= seriesMax) return;
      series = this.#empty();
      this.#series.set(key, series);
    }
    let bucket = 0;
    while (bucket < this.#buckets.length && value > (this.#buckets[bucket] as number)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
  }

  *samples(): Iterable<readonly [string, string, number]> {
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

function labelText(names: readonly string[], labels: Labels): string {
  let text = "";
  for (const name of names) {
    const value = labels[name];
    if (value === undefined) throw new TypeError(`The label ${name} is missing`);
    text += `${text === "" ? "" : ","}${name}="${escapeLabel(value)}"`;
  }
  return text;
}

const special = /[\\"\n]/;

function escapeLabel(value: string): string {
  if (!special.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

// JSON has no other numbers.
function finite(value: number | null): number | null {
  return value === null || Number.isFinite(value) ? value : null;
}
