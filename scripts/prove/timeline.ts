/**
 * Summarizes a round for whoever reads its violations.
 *
 * @module
 */

import type { History } from "./history.ts";
import { seconds } from "./rules/rule.ts";
import type { Violation } from "./rules/rules.ts";

// The most violations that are named.
const namedMax = 12;
// A round's service processes may run with a clock that is an hour off.
const clockStepS = 3_600;
const reported = /^(?:started|store_|commit_warning$)/;

/** Returns a line for each violation, shortened, and, if there are any, one with the steps and one for each service process's log. */
export function describeViolations(history: History, violations: readonly Violation[]): string[] {
  if (violations.length === 0) return [];
  const named = violations.slice(0, namedMax).map(({ rule, what }) =>
    `${rule}: ${what.replace(/\((\S{40})\S{20,}\)/, "($1…)").slice(0, 400)}`
  );
  const steps = history.performed.map(({ kind, node, fromMs, toMs }) =>
    `${kind}${node === null ? "" : ` ${node}`} ${seconds(fromMs)}–${seconds(toMs)}`
  );
  return [
    ...named,
    ...violations.length > namedMax ? [`and ${violations.length - namedMax} more`] : [],
    `steps: ${steps.join(", ")}`,
    ...history.logs.filter(({ name }) => name.startsWith("service")).map(({ name, text }) =>
      `${name}: ${storeEvents(text).join(", ")}`
    ),
  ];
}

/** Returns when a process started, and what it logged of its store, with the time in the history. */
function storeEvents(log: string): string[] {
  return log.split("\n").filter((line) => line.startsWith("{")).flatMap((line) => {
    const { event, time, cause, text } = JSON.parse(line) as Readonly<Record<string, string>>;
    if (!reported.test(String(event))) return [];
    const atS = (Date.parse(String(time)) - performance.timeOrigin) / 1000 % clockStepS;
    return [`${atS.toFixed(1)} s ${event}${cause ?? text ? ` (${cause ?? text})` : ""}`];
  });
}
