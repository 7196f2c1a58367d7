/**
 * Plants bugs in copies of the tree, runs the steps that must reveal each bug, and prints a table.
 *
 * @module
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyEdits, type Bug, bugs, onlyCaughtBy } from "./bugs.ts";
import { nowMs } from "./clock.ts";
import { ownTree } from "./database.ts";
import { makePlan } from "./plan.ts";
import { runRound } from "./round.ts";
import { check, type Violation } from "./rules/rules.ts";

/** The result for a bug. */
interface Result {
  readonly bug: Bug;
  /** The violations in the round that caught the bug; empty if none did. */
  readonly found: readonly Violation[];
  readonly rounds: number;
  readonly seconds: number;
}

/** The files and folders that a copy needs. */
const copiedParts = ["src", "sql", "scripts", "package.json", "deno.json"];
const roundsMax = 4;

/** Copies the tree, applies the bug's edits, and returns the copy's folder. */
function plant({ edits }: Bug): string {
  const tree = mkdtempSync(join(tmpdir(), "planted-"));
  for (const part of copiedParts) cpSync(join(ownTree, part), join(tree, part), { recursive: true });
  symlinkSync(join(ownTree, "node_modules"), join(tree, "node_modules"));
  for (const [file, ofFile] of Map.groupBy(edits, ([file]) => file)) {
    writeFileSync(join(tree, file), applyEdits(readFileSync(join(ownTree, file), "utf8"), ofFile));
  }
  return tree;
}

/** Runs a round with a bug's steps on a tree and returns the violations. */
async function findViolations(bug: Bug, seed: number, tree: string): Promise<Violation[]> {
  const { steps, hasActions, hasOperators } = bug;
  const plan = makePlan({
    seed,
    hasActions,
    hasOperators,
    runMs: 8_000,
    nodes: 2,
    callers: 12,
    pauseMs: 40,
    only: steps,
    nodeKillMs: 1_500,
    postgresKillMs: 2_500,
  });
  const options = { tree, diskMegabytes: 256, runtimes: ["node"] } as const;
  return check(await runRound(plan, options));
}

/** Plants a bug and runs rounds with successive seeds, at most {@linkcode roundsMax}, until it is caught. */
export async function testBug(bug: Bug, seed: number): Promise<Result> {
  const tree = plant(bug);
  const startedAtMs = nowMs();
  let found: Violation[] = [];
  let rounds = 0;
  try {
    while (found.length === 0 && rounds < roundsMax) found = await findViolations(bug, seed + rounds++, tree);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  return { bug, found, rounds, seconds: Math.round((nowMs() - startedAtMs) / 1000) };
}

/**
 * Tests the named bugs, or all of them. Returns `true` if each was caught, the unmodified tree has no violations, and no
 * other rule catches a bug listed in `onlyCaughtBy`.
 */
export async function testBugs(names: readonly string[], seed: number): Promise<boolean> {
  const unknown = names.filter((name) => !bugs.some((bug) => bug.name === name));
  if (unknown.length > 0) throw new Error(`There is no planted bug named ${unknown[0]}`);
  const results: Result[] = [];
  const checkedSchedules = new Set<string>();
  const falsePositives: Violation[] = [];
  for (const bug of bugs.filter(({ name }) => names.length === 0 || names.includes(name))) {
    // The steps must reveal nothing without the bug.
    const schedule = `${bug.steps} ${bug.hasActions} ${bug.hasOperators}`;
    if (!checkedSchedules.has(schedule)) falsePositives.push(...await findViolations(bug, seed, ownTree));
    checkedSchedules.add(schedule);
    const result = await testBug(bug, seed);
    results.push(result);
    const [first] = result.found;
    const outcome = first === undefined ? "NOT CAUGHT" : "caught    ";
    console.log(`${outcome} ${bug.name}, ${result.seconds} s  ${first?.rule ?? ""} ${first?.what ?? ""}`);
  }
  for (const { rule, what } of falsePositives) console.log(`Without a bug: ${rule}: ${what}`);
  console.log("\n| Planted bug | Symptom | Steps | Caught by the rules | Rounds | Seconds |");
  console.log("| --- | --- | --- | --- | ---: | ---: |");
  for (const { bug, found, rounds, seconds } of results) {
    const rules = [...new Set(found.map(({ rule }) => `\`${rule}\``))].join(", ") || "**not caught**";
    const steps = bug.steps.map((step) => `\`${step}\``).join(", ") || "none";
    console.log(`| ${bug.name} | ${bug.what} | ${steps} | ${rules} | ${rounds} | ${seconds} |`);
  }
  const caught = results.filter(({ found }) => found.length > 0).length;
  console.log(`\n${caught} of ${results.length} were caught.`);
  // A rule is redundant or ineffective unless some bug is caught by that rule only.
  const sharedCatches = Object.entries(onlyCaughtBy).flatMap(([rule, name]) => {
    const found = results.find(({ bug }) => bug.name === name)?.found ?? [];
    return found.filter((one) => one.rule !== rule).slice(0, 1).map((one) => ({ rule, name, by: one.rule }));
  });
  for (const { rule, name, by } of sharedCatches) {
    console.log(`${by} also catches ${name}, which only ${rule} should catch`);
  }
  return falsePositives.length === 0 && sharedCatches.length === 0 && caught === results.length;
}
