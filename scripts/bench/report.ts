/**
 * What was found, as a table for the terminal and as a file.
 *
 * @module
 */

import type { Found, GroupResult, Measured, Result } from "./suite.ts";
import { ratio, significant, withSpread } from "./stats.ts";

/** A row as the file has it; figures have four significant digits. */
export interface SavedRow {
  /** For `--rows`. */
  readonly id: string;
  readonly name: string;
  /** Of `ours` and `peer`, which are medians. */
  readonly unit: string;
  readonly ours: number | null;
  /** `null` when there is nobody to compare with. */
  readonly peer: number | null;
  readonly ratio: number | null;
  /** The lowest and the highest of the rounds: of the ratio, without a peer of `ours`. */
  readonly spread: readonly [number, number] | null;
  readonly target: string | null;
  /** `null` without a target, and when it could not be measured. */
  readonly met: boolean | null;
  readonly note: string;
}

/** The rows as the file has them. */
export function toRows(results: readonly Result[]): SavedRow[] {
  return results.map((result) => {
    const { id, name, unit, ours, peer, note } = result;
    const value = valueOf(result);
    return {
      id,
      name,
      unit,
      ours: ours && significant(ours.median),
      peer: peer && significant(peer.median),
      ratio: peer && value && significant(value.median),
      spread: value && [significant(value.lowest), significant(value.highest)],
      target: targetOf(result),
      met: isMet(result),
      note,
    };
  });
}

/** All that was measured, by contender: median, lowest and highest. */
export function toMeasures(found: Found): Measured {
  return Object.fromEntries(
    Object.entries(found).map(([contender, measures]) => [
      contender,
      Object.fromEntries(
        Object.entries(measures).map(([name, { median, lowest, highest }]) => [
          name,
          [median, lowest, highest].map(significant),
        ]),
      ),
    ]),
  );
}

/** The table as text, and all measures below it. */
export function renderTable(groups: readonly GroupResult[]): string {
  const cells = groups.flatMap(({ results }) => results).map((result) => {
    const value = valueOf(result);
    const met = isMet(result);
    return [
      result.id,
      result.name,
      value === null ? "–" : `${withSpread(value)}${unitOf(result)}`,
      targetOf(result) ?? "",
      value === null ? "not measured" : met === null ? "" : met ? "pass" : "FALLS SHORT",
    ];
  });
  const lines = [["row", "what", "found: median (spread)", "must reach", ""], ...cells];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...lines.map((line) => (line[column] as string).length))
  );
  const details = groups.flatMap(({ found, results }) => [
    ...Object.entries(found).flatMap(([contender, measures]) => [
      `\n${contender}`,
      ...Object.entries(measures).map(([name, figure]) => `  ${name}: ${withSpread(figure)}`),
    ]),
    ...results.filter(({ note }) => note !== "").map(({ id, note }) => `\n${id}: ${note}`),
  ]);
  return [
    ...lines.map((line) =>
      line.map((text, column) => text.padEnd(widths[column] as number)).join("  ").trimEnd()
    ),
    ...details,
  ].join("\n");
}

function valueOf({ ours, peer }: Result) {
  return ours && peer ? ratio(ours, peer) : ours;
}

function isMet(result: Result): boolean | null {
  const { target, judged = "median" } = result;
  const value = valueOf(result);
  if (value === null || target === undefined) return null;
  return "atLeast" in target ? value[judged] >= target.atLeast : value[judged] <= target.atMost;
}

function targetOf(result: Result): string | null {
  const { target } = result;
  if (target === undefined) return null;
  const text = "atLeast" in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`;
  return text + unitOf(result);
}

function unitOf({ isRatio, unit }: Result): string {
  return isRatio ? " ×" : unit === "" ? "" : ` ${unit}`;
}
