/**
 * What a run has come to, round by round, and the table of it.
 *
 * @module
 */

import type { History } from "./history.ts";
import type { Violation } from "./rules/rules.ts";

type Counts = Record<string, number>;

/** Counts of several rounds. */
export class Tally {
  readonly #run: Counts = {};
  readonly #answers: Counts = {};
  readonly #done: Counts = {};
  readonly #verbs: Counts = {};
  readonly #violations: Counts = {};

  /** Adds a round. */
  add(
    { asked, happened, tables, arrived, ...rest }: History,
    violations: readonly Violation[],
    runMs: number,
  ) {
    const done = (kind: RegExp) => happened.filter((one) => kind.test(one.kind)).length;
    for (const { answer } of asked) add(this.#answers, { [answer?.status ?? "no answer"]: 1 });
    for (const { kind } of happened) add(this.#done, { [kind]: 1 });
    for (const { rule } of violations) add(this.#violations, { [rule]: 1 });
    add(this.#run, {
      "rounds": 1,
      "seconds": Math.round(runMs / 1000),
      "service processes killed (SIGKILL)": done(/^kill/),
      "PostgreSQL killed (SIGKILL)": done(/^postgres_kill$/),
      "actions process killed (SIGKILL)": done(/^actions_kill$/),
      "things done to the parts in all": happened.length,
      "requests": asked.length,
      "events stored": tables.events.length,
      "requests and calls downstream": arrived.length,
    });
    add(this.#verbs, rest.verbs);
  }

  /** Findings in all. */
  get violations(): number {
    return Object.values(this.#violations).reduce((sum, times) => sum + times, 0);
  }

  /** The table, in Markdown. */
  text(): string {
    const parts = {
      "Run": this.#run,
      "Requests by answer": this.#answers,
      "Done to the parts": this.#done,
      "Verbs": this.#verbs,
      "Violations": this.violations === 0 ? { "of any rule": 0 } : this.#violations,
    };
    return Object.entries(parts).map(([title, counts]) => {
      const rows = Object.entries(counts).map(([name, value]) =>
        `| ${name} | ${value.toLocaleString("en-US")} |`
      );
      return [`| ${title} | |`, "| --- | ---: |", ...rows].join("\n");
    }).join("\n\n");
  }
}

function add(counts: Counts, more: Readonly<Counts>): void {
  for (const [name, value] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + value;
}
