/**
 * Plants bugs, one at a time, in a copy of the tree, and runs the shortest schedule that has to show each.
 *
 * @module
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "../check.ts";
import { nowMs } from "../clock.ts";
import type { Violation } from "../history.ts";
import { makePlan, type Plan } from "../plan.ts";
import { runRound } from "../round.ts";
import { ownTree } from "../database.ts";
import { acceptingBugs } from "./accepting.ts";
import { type Bug, edited } from "./bug.ts";
import { deliveringBugs } from "./delivering.ts";

/** All of them. */
export const bugs: readonly Bug[] = [...acceptingBugs, ...deliveringBugs];

/** What became of one. */
export interface Hunt {
  readonly bug: Bug;
  /** `null`: not caught. */
  readonly caughtBy: readonly string[] | null;
  /** The first finding. */
  readonly finding: string | null;
  readonly tries: number;
  readonly seconds: number;
}

/** What a copy of the tree needs to run. */
const parts = ["src", "sql", "scripts", "package.json", "deno.json"];
const runMs = 8_000;
const triesMax = 4;

/** The tree with the bug's edits, until `dispose` is called. */
export function plant({ edits }: Pick<Bug, "edits">): { readonly tree: string; dispose(): void } {
  const tree = mkdtempSync(join(tmpdir(), "planted-"));
  for (const part of parts) cpSync(join(ownTree, part), join(tree, part), { recursive: true });
  symlinkSync(join(ownTree, "node_modules"), join(tree, "node_modules"));
  for (const [file, ofFile] of Map.groupBy(edits, (edit) => edit.file)) {
    writeFileSync(join(tree, file), edited(readFileSync(join(ownTree, file), "utf8"), ofFile));
  }
  return { tree, dispose: () => rmSync(tree, { recursive: true, force: true }) };
}

/** The plan that has to show it. */
export function planFor({ steps, hasActions = false }: Bug, seed: number): Plan {
  return makePlan({
    ...{ seed, runMs, hasActions, nodes: 2, callers: 12, pauseMs: 40, only: steps },
    ...{ nodeKillMs: 1_500, postgresKillMs: 2_500 },
  });
}

/** Runs a tree by a bug's plan, and returns what was found. */
export async function tryPlan(bug: Bug, seed: number, tree: string): Promise<Violation[]> {
  return check(
    await runRound(planFor(bug, seed), {
      ...{ tree, diskMegabytes: 256, runtimes: ["node"] },
      ...{ calmMs: 1_500, drainMs: 30_000 },
    }),
  );
}

/** Plants one and looks for it, with some seeds. */
export async function hunt(bug: Bug, seed: number): Promise<Hunt> {
  const { tree, dispose } = plant(bug);
  const startedAtMs = nowMs();
  try {
    for (let tries = 1;; tries += 1) {
      const found = await tryPlan(bug, seed + tries - 1, tree);
      const seconds = (nowMs() - startedAtMs) / 1000;
      if (found.length > 0) {
        const caughtBy = [...new Set(found.map(({ rule }) => rule))];
        return { bug, caughtBy, finding: `${found[0]?.rule}: ${found[0]?.what}`, tries, seconds };
      }
      if (tries === triesMax) return { bug, caughtBy: null, finding: null, tries, seconds };
    }
  } finally {
    dispose();
  }
}
