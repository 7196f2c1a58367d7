/**
 * The table of a run.
 *
 * @module
 */

import type { Round } from "./rounds.ts";

/** A Markdown table: a row for each fault, times in seconds as median and worst. */
export function table(rounds: readonly Round[]): string {
  const names = Object.keys(rounds[0]?.acceptingMs ?? {});
  const head = [
    ...[
      "Fault",
      "Times",
      "202",
      "503",
      "No answer",
      "Repeated deliveries",
      "Connections",
      "New primary after",
    ],
    ...names.map((name) => `202 after that: ${name}`),
    ...["Outage", "Violations"],
  ];
  const rows = [...Map.groupBy(rounds, ({ fault }) => fault)].map(([fault, all]) => [
    fault,
    all.length,
    sum(all, (round) => round.accepted),
    sum(all, (round) => round.refused),
    sum(all, (round) => round.noAnswer),
    sum(all, (round) => round.repeats),
    Math.max(...all.map(({ backends }) => backends)),
    seconds(all.map(({ primaryMs }) => primaryMs)),
    ...names.map((name) => seconds(all.map(({ acceptingMs }) => acceptingMs[name] ?? 0))),
    seconds(all.map(({ outageMs }) => Math.max(0, ...Object.values(outageMs)))),
    sum(all, (round) => round.violations.length),
  ]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function sum(rounds: readonly Round[], value: (round: Round) => number): number {
  return rounds.reduce((total, round) => total + value(round), 0);
}

function seconds(ms: readonly number[]): string {
  const sorted = ms.toSorted((one, other) => one - other);
  const median = sorted[sorted.length >> 1] ?? 0;
  return `${(median / 1_000).toFixed(2)}, ${((sorted.at(-1) ?? 0) / 1_000).toFixed(2)}`;
}
