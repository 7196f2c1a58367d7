/**
 * Figures of several rounds, and how they are put into words.
 *
 * @module
 */

/** The samples of one quantity, one a round. */
export interface Figure {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly samples: readonly number[];
}

/** Sums samples up; at least one. */
export function figure(samples: readonly number[]): Figure {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (index: number) => sorted[index] as number;
  const middle = sorted.length >> 1;
  return {
    median: sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2,
    lowest: at(0),
    highest: at(sorted.length - 1),
    samples,
  };
}

/**
 * The ratio of two quantities that were measured side by side: the ratio of the medians, and as its spread
 * the lowest and highest ratio within a round.
 */
export function ratio(ours: Figure, theirs: Figure): Figure {
  const samples = ours.samples.map((sample, round) => sample / (theirs.samples[round] as number));
  return { ...figure(samples), median: ours.median / theirs.median };
}

/** A quantile of sorted samples. */
export function quantile(sorted: Float64Array, q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** A number with three or more significant digits, thousands set apart. */
export function digits(value: number): string {
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** `median (lowest–highest)`. */
export function withSpread({ median, lowest, highest }: Figure): string {
  return `${digits(median)} (${digits(lowest)}–${digits(highest)})`;
}

/** Rounded to four significant digits. */
export function significant(value: number): number {
  return Number(value.toPrecision(4));
}
