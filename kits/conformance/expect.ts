/**
 * Compares what was found with what a case says.
 *
 * A condition is a value that has to be equal, or one of `{"between": [least, most]}`, `{"matches": "pattern"}` and
 * `{"one_of": [values]}`.
 *
 * @module
 */

import { isDeepStrictEqual } from "node:util";

/** A wait is told in milliseconds by ten languages; none is wrong by more than this. */
const waitToleranceMs = 2;

/** Whether a value fulfils a condition. */
export function fulfils(value: unknown, condition: unknown): boolean {
  if (typeof condition === "object" && condition !== null) {
    const { between, matches, one_of } = condition as Record<string, unknown>;
    if (Array.isArray(between)) {
      return typeof value === "number" && value >= between[0] && value <= between[1];
    }
    if (typeof matches === "string") return typeof value === "string" && new RegExp(matches).test(value);
    if (Array.isArray(one_of)) return one_of.some((each) => isDeepStrictEqual(value, each));
  }
  return isDeepStrictEqual(value, condition);
}

const shown = (value: unknown) => value === undefined ? "nothing" : JSON.stringify(value);

/** What differs of an object's members, a sentence each; members that no condition names may be anything. */
export function differences(
  what: string,
  value: Readonly<Record<string, unknown>> | undefined,
  conditions: Readonly<Record<string, unknown>>,
): string[] {
  if (value === undefined) return [`there is no ${what}`];
  return Object.entries(conditions).filter(([name, condition]) => !fulfils(value[name], condition))
    .map(([name, condition]) => `${what} ${name} is ${shown(value[name])} and not ${shown(condition)}`);
}

/** What differs of the waits. */
export function waitDifferences(
  waits: readonly unknown[] | undefined,
  conditions: readonly unknown[],
): string[] {
  const fits = (wait: unknown, condition: unknown) =>
    typeof condition === "number"
      ? typeof wait === "number" && Math.abs(wait - condition) <= waitToleranceMs
      : fulfils(wait, condition);
  return waits?.length === conditions.length && conditions.every((condition, n) => fits(waits[n], condition))
    ? []
    : [`the waits are ${shown(waits)} and not ${shown(conditions)}`];
}
