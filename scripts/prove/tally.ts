/**
 * What a run has come to, round by round, and the table of it.
 *
 * @module
 */

import type { History, Violation } from "./history.ts";

/** Counts of several rounds. */
export class Tally {
  #rounds = 0;
  #runMs = 0;
  readonly #answers = new Map<string, number>();
  readonly #done = new Map<string, number>();
  readonly #sums = new Map<string, number>();
  readonly #violations = new Map<string, number>();

  /** Adds a round. */
  add(
    history: History,
    { violations, runMs }: { readonly violations: readonly Violation[]; readonly runMs: number },
  ): void {
    this.#rounds += 1;
    this.#runMs += runMs;
    for (const { answer } of history.asked) {
      count(this.#answers, answer === null ? "no answer" : String(answer.status));
    }
    for (const { kind } of history.happened) count(this.#done, kind);
    for (const { rule } of violations) count(this.#violations, rule);
    const { tables, arrived } = history;
    const taken = arrived.filter(({ said }) => said !== null && said >= 200 && said < 300);
    const sums = {
      "events stored": tables.events.length,
      "leads and forms kept aside as collisions": tables.collisions.length,
      "attempts on record": tables.attempts.length,
      "requests and calls downstream": arrived.length,
      "taken downstream": taken.length,
      "repeats of what was taken": taken.length - new Set(taken.map(({ eventId }) => eventId)).size,
      "dead, and put back": history.replayed.length,
      "keys revoked": history.revoked.length,
      "looks at health": history.looks.length,
    };
    for (const [name, value] of Object.entries(sums)) count(this.#sums, name, value);
  }

  /** How often something was done. */
  done(pattern: RegExp): number {
    return [...this.#done].reduce((sum, [kind, times]) => pattern.test(kind) ? sum + times : sum, 0);
  }

  /** Findings in all. */
  get violations(): number {
    return [...this.#violations.values()].reduce((sum, times) => sum + times, 0);
  }

  /** The table, in Markdown. */
  text(): string {
    const rows = (
      title: string,
      values: Iterable<readonly [string, number]>,
    ) => [
      `| ${title} | |`,
      "| --- | ---: |",
      ...[...values].map(([name, value]) => `| ${name} | ${grouped(value)} |`),
      "",
    ];
    const total = [...this.#answers.values()].reduce((sum, times) => sum + times, 0);
    return [
      ...rows("Run", [
        ["rounds", this.#rounds],
        ["minutes", Math.round(this.#runMs / 6_000) / 10],
        ["service processes killed (SIGKILL)", this.done(/^kill/)],
        ["PostgreSQL killed (SIGKILL)", this.done(/^postgres_kill$/)],
        ["actions process killed (SIGKILL)", this.done(/^actions_kill$/)],
        ["things done to the parts in all", this.done(/./)],
      ]),
      ...rows(`Requests by answer, of ${grouped(total)}`, sorted(this.#answers)),
      ...rows("Events and deliveries", this.#sums),
      ...rows("Done to the parts", sorted(this.#done)),
      ...rows("Violations", this.#violations.size === 0 ? [["of any rule", 0]] : sorted(this.#violations)),
    ].join("\n").trimEnd();
  }
}

function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => a < b ? -1 : 1);
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
