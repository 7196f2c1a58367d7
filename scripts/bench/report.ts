/**
 * The table: what the issue asks for, row by row, beside what was found.
 *
 * @module
 */

import { digits, type Figure, withSpread } from "./stats.ts";

/** One line of the table. */
export interface RowResult {
  /** The number of the issue's row; some have two lines. */
  readonly row: number;
  readonly what: string;
  /** `null` when it could not be measured. */
  readonly value: Figure | null;
  /** `×` for a ratio. */
  readonly unit: "×" | "MiB" | "s" | "ms" | "";
  readonly target: { readonly atLeast: number } | { readonly atMost: number };
  /** What is held against the target: the median, except where the worst has to meet it. */
  readonly judged: "median" | "highest";
  /** The figures behind a ratio, by name; what they are of stands in their name. */
  readonly figures: Readonly<Record<string, Figure>>;
  readonly notes: readonly string[];
}

/** Whether a row meets its target; `null` when it was not measured. */
export function passes({ value, judged, target }: RowResult): boolean | null {
  if (value === null) return null;
  const held = value[judged];
  return "atLeast" in target ? held >= target.atLeast : held <= target.atMost;
}

function targetText({ target, unit }: RowResult): string {
  const [word, number] = "atLeast" in target ? ["at least", target.atLeast] : ["at most", target.atMost];
  return `${word} ${number}${unit === "" ? "" : ` ${unit}`}`;
}

function verdict(row: RowResult): string {
  const pass = passes(row);
  return pass === null ? "not measured" : pass ? "pass" : "FALLS SHORT";
}

/** The table as text. */
export function renderTable(rows: readonly RowResult[]): string {
  const head = ["#", "what", "found: median (spread)", "must reach", ""];
  const cells = rows.map((row) => [
    String(row.row),
    row.what,
    row.value === null ? "–" : `${withSpread(row.value)} ${row.unit}`.trim(),
    targetText(row),
    verdict(row),
  ]);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...cells].map((line) => (line[column] as string).length))
  );
  const line = (texts: readonly string[]) =>
    texts.map((text, column) => text.padEnd(widths[column] as number)).join("  ").trimEnd();
  const details = rows.flatMap((row) => [
    ...Object.entries(row.figures).map(([name, figure]) => `${row.row}  ${name}: ${withSpread(figure)}`),
    ...row.notes.map((note) => `${row.row}  ${note}`),
  ]);
  return [
    line(head),
    line(widths.map((width) => "-".repeat(width))),
    ...cells.map(line),
    "",
    ...details,
  ].join("\n");
}

/** The table as the JSON file has it. */
export function toJson(rows: readonly RowResult[]): unknown[] {
  return rows.map((row) => ({ ...row, must_reach: targetText(row), pass: passes(row) }));
}

/** `name N/s` for every candidate, the best first. */
export function candidates(found: ReadonlyMap<string, number>): string {
  return [...found].sort(([, a], [, b]) => b - a).map(([name, perSecond]) => `${name} ${digits(perSecond)}/s`)
    .join(", ");
}
