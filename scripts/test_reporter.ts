/**
 * The reporter of one test file for `scripts/test.ts`: people get what Node's `spec` says without its sums, and
 * `TEST_OUTCOMES` names a file that gets a line for every test when it begins, and when it has ended, such as `test passed`.
 *
 * @module
 */

import { appendFileSync } from "node:fs";
import process from "node:process";
import { Readable } from "node:stream";
import { spec } from "node:test/reporters";
import type { TestEvent } from "node:test/reporters";

/** How a test or a suite of tests ended. */
export type TestOutcome = "passed" | "failed" | "cancelled" | "skipped" | "todo";

/** Of one file or of many; `suites` are not among the tests. */
export type TestCounts = Readonly<Record<"tests" | "suites" | TestOutcome, number>>;

const none: TestCounts = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };

/** Yields text for people. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(noted(events)).compose(new spec());
}

async function* noted(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  const file = process.env.TEST_OUTCOMES;
  for await (const event of events) {
    const { type, data } = event;
    if (file !== undefined && type === "test:dequeue") appendFileSync(file, `begins ${data.name}\n`);
    if (file !== undefined && (type === "test:pass" || type === "test:fail")) {
      appendFileSync(file, `${data.details.type ?? "test"} ${outcomeOf(event)}\n`);
    }
    // Each file's sums are added up for the end.
    if (
      type !== "test:diagnostic" ||
      !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)
    ) {
      yield event;
    }
  }
}

function outcomeOf({ type, data }: Extract<TestEvent, { type: "test:pass" | "test:fail" }>): TestOutcome {
  if (data.skip !== undefined) return "skipped";
  if (data.todo !== undefined) return "todo";
  if (type === "test:pass") return "passed";
  const { failureType } = data.details.error as { failureType?: string };
  // The tests of a suite are counted themselves; what is left are its hooks.
  if (data.details.type === "suite" && failureType === "subtestsFailed") return "passed";
  return failureType === "cancelledByParent" ? "cancelled" : "failed";
}

/** Reads the outcomes that a file has left, also when it was ended half-way. */
export function countOutcomes(text: string): TestCounts {
  const counts = { ...none };
  for (const line of text.split("\n")) {
    const [type, outcome] = line.split(" ") as [string, TestOutcome];
    if (type === "suite") counts.suites += 1;
    else if (type === "test") counts.tests += 1;
    if (type === "test" || (type === "suite" && outcome === "failed")) counts[outcome] += 1;
  }
  return counts;
}

/** The test that a file was at when it stopped. */
export function unfinishedTest(text: string): string | undefined {
  return /^begins (.*)$/.exec(text.trimEnd().split("\n").at(-1) ?? "")?.[1];
}

/** Adds up. */
export function sumCounts(all: readonly TestCounts[]): TestCounts {
  const sum = { ...none };
  for (const counts of all) {
    for (const name of Object.keys(sum) as (keyof TestCounts)[]) sum[name] += counts[name];
  }
  return sum;
}
