/**
 * Plants bugs, one at a time, in a copy of the tree, runs the shortest schedule that has to show each, and prints the table.
 *
 * @module
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bug, bugs, edited, onlyCaughtBy } from "./bugs.ts";
import { nowMs } from "./clock.ts";
import { ownTree } from "./database.ts";
import { makePlan } from "./plan.ts";
import { runRound } from "./round.ts";
import { check, type Violation } from "./rules/rules.ts";

/** What became of one. */
interface Hunt {
  readonly bug: Bug;
  /** Of the try that found it; empty: it was not caught. */
  readonly found: readonly Violation[];
  readonly tries: number;
  readonly seconds: number;
}

/** What a copy of the tree needs to run. */
const parts = ["src", "sql", "scripts", "package.json", "deno.json"];
const triesMax = 4;

/** The tree with the bug's edits. */
function plant({ edits }: Bug): string {
  const tree = mkdtempSync(join(tmpdir(), "planted-"));
  for (const part of parts) cpSync(join(ownTree, part), join(tree, part), { recursive: true });
  symlinkSync(join(ownTree, "node_modules"), join(tree, "node_modules"));
  for (const [file, ofFile] of Map.groupBy(edits, ([file]) => file)) {
    writeFileSync(join(tree, file), edited(readFileSync(join(ownTree, file), "utf8"), ofFile));
  }
  return tree;
}

/** Runs a tree by a bug's plan, and returns what was found. */
async function tryPlan(
  { steps, hasActions, hasOperators }: Bug,
  seed: number,
  tree: string,
): Promise<Violation[]> {
  const plan = makePlan({
    ...{ seed, hasActions, hasOperators, runMs: 8_000, nodes: 2, callers: 12, pauseMs: 40, only: steps },
    ...{ nodeKillMs: 1_500, postgresKillMs: 2_500 },
  });
  const options = { tree, diskMegabytes: 256, runtimes: ["node"] } as const;
  return check(await runRound(plan, options));
}

/** Plants one and looks for it, with some seeds. */
export async function hunt(bug: Bug, seed: number): Promise<Hunt> {
  const tree = plant(bug);
  const startedAtMs = nowMs();
  let found: Violation[] = [];
  let tries = 0;
  try {
    while (found.length === 0 && tries < triesMax) found = await tryPlan(bug, seed + tries++, tree);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  return { bug, found, tries, seconds: Math.round((nowMs() - startedAtMs) / 1000) };
}

/** Hunts those that are named, or all; returns whether each was caught, and the tree itself was found to be clean. */
export async function huntAll(names: readonly string[], seed: number): Promise<boolean> {
  const unknown = names.filter((name) => !bugs.some((bug) => bug.name === name));
  if (unknown.length > 0) throw new Error(`No planted bug has the name ${unknown[0]}`);
  const hunts: Hunt[] = [];
  const asked = new Set<string>();
  const unclean: Violation[] = [];
  for (const bug of bugs.filter(({ name }) => names.length === 0 || names.includes(name))) {
    // What would be found without the bug proves nothing.
    const schedule = `${bug.steps} ${bug.hasActions} ${bug.hasOperators}`;
    if (!asked.has(schedule)) unclean.push(...await tryPlan(bug, seed, ownTree));
    asked.add(schedule);
    const one = await hunt(bug, seed);
    hunts.push(one);
    const [first] = one.found;
    const outcome = first === undefined ? "NOT CAUGHT" : "caught    ";
    console.log(`${outcome} ${bug.name}, ${one.seconds} s  ${first?.rule ?? ""} ${first?.what ?? ""}`);
  }
  for (const { rule, what } of unclean) console.log(`Without a bug: ${rule}: ${what}`);
  console.log("\n| Planted | What goes wrong | Steps | Caught by the rules | Tries | Seconds |");
  console.log("| --- | --- | --- | --- | ---: | ---: |");
  for (const { bug, found, tries, seconds } of hunts) {
    const rules = [...new Set(found.map(({ rule }) => `\`${rule}\``))].join(", ") || "**not caught**";
    const steps = bug.steps.map((step) => `\`${step}\``).join(", ") || "none";
    console.log(`| ${bug.name} | ${bug.what} | ${steps} | ${rules} | ${tries} | ${seconds} |`);
  }
  const caught = hunts.filter(({ found }) => found.length > 0).length;
  console.log(`\n${caught} of ${hunts.length} were caught.`);
  // A rule that has no bug of its own could go, or is blind.
  const blurred = Object.entries(onlyCaughtBy).flatMap(([rule, name]) => {
    const found = hunts.find(({ bug }) => bug.name === name)?.found ?? [];
    return found.filter((one) => one.rule !== rule).slice(0, 1).map((one) => ({ rule, name, by: one.rule }));
  });
  for (const { rule, name, by } of blurred) console.log(`Not ${rule} alone catches ${name}: ${by} does`);
  return unclean.length === 0 && blurred.length === 0 && caught === hunts.length;
}
