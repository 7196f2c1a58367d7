/**
 * Counts what happened in a run, and formats the counts as tables.
 *
 * @module
 */

import type { History } from "./history.ts";
import type { Violation } from "./rules/rules.ts";

type Counts = Record<string, number>;

/** The counts of a run. */
export class Tally {
  readonly #run: Counts = {};
  readonly #responses: Counts = {};
  readonly #steps: Counts = {};
  readonly #operations: Counts = {};
  readonly #violations: Counts = {};

  /** Adds a round. */
  add(history: History, violations: readonly Violation[], runMs: number): void {
    const { exchanges, performed, tables, deliveries, operations } = history;
    const countSteps = (kind: RegExp) => performed.filter((one) => kind.test(one.kind)).length;
    for (const { response } of exchanges) add(this.#responses, { [response?.status ?? "no response"]: 1 });
    for (const { kind } of performed) add(this.#steps, { [kind]: 1 });
    for (const { rule } of violations) add(this.#violations, { [rule]: 1 });
    add(this.#run, {
      "rounds": 1,
      "seconds": Math.round(runMs / 1000),
      "service processes killed (SIGKILL)": countSteps(/^kill/),
      "PostgreSQL killed (SIGKILL)": countSteps(/^postgres_kill$/),
      "actions process killed (SIGKILL)": countSteps(/^actions_kill$/),
      "steps": performed.length,
      "requests": exchanges.length,
      "events stored": tables.events.length,
      "deliveries received": deliveries.length,
    });
    add(this.#operations, operations);
  }

  get violations(): number {
    return Object.values(this.#violations).reduce((sum, count) => sum + count, 0);
  }

  /** Returns the counts as Markdown tables. */
  text(): string {
    const sections = {
      "Run": this.#run,
      "Requests by response": this.#responses,
      "Steps": this.#steps,
      "Operations": this.#operations,
      "Violations": this.violations === 0 ? { "all rules": 0 } : this.#violations,
    };
    return Object.entries(sections).map(([title, counts]) => {
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
