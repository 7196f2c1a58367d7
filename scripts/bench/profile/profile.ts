/**
 * Where the service and PostgreSQL spend their time in a round: flame graphs, tables of functions and of statements.
 *
 * @module
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildFolder, say } from "../programs.ts";
import type { Stage } from "../stage.ts";
import { digits } from "../stats.ts";
import { renderFlame } from "./flame.ts";
import { watchPostgres, whyNoPerf } from "./perf.ts";
import { hottest, ofCpuProfile, type Stack, totalOf } from "./stacks.ts";
import type { Tree } from "../tree.ts";
import { countStatements } from "./statements.ts";

const folder = join(buildFolder, "profile");
/** Functions that are told; the picture has them all. */
const shown = 30;

/** A profile that a process is going to write. */
interface Profile {
  /** Flags of Node for that process. */
  readonly nodeFlags: readonly string[];
  /** From now on it counts: what the start took is another question. */
  begin(): void;
  /** Draws it, once the process has ended. */
  tell(): void;
}

let profiles = 0;

/** Has a process of Node profiled from its start to its end. */
export function openProfile(name: string): Profile {
  mkdirSync(folder, { recursive: true });
  profiles += 1;
  const fileName = `${name}_${profiles}`;
  const file = `${fileName}.cpuprofile`;
  let fromUs = -Infinity;
  return {
    nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${file}`],
    begin() {
      fromUs = Number(process.hrtime.bigint() / 1_000n);
    },
    tell() {
      const stacks = ofCpuProfile(JSON.parse(readFileSync(join(folder, file), "utf8")), fromUs);
      draw(fileName, `${name}: busy ${digits(totalOf(stacks) / 1e6)} s`, stacks);
    },
  };
}

/** Watches PostgreSQL during a round of a tree's service. */
export async function profiled<T>(
  name: string,
  { stage, tree }: { readonly stage: Stage; readonly tree: Tree },
  round: () => Promise<T>,
): Promise<T> {
  // The template is made by the first to need it, and that is no part of the round.
  await stage.lend(tree, () => Promise.resolve());
  mkdirSync(folder, { recursive: true });
  const why = whyNoPerf();
  if (why !== null) say(`No flame graph of PostgreSQL: ${why}`);
  const { found, lines } = await countStatements(
    stage.admin,
    () => why === null ? watchPostgres(stage.pid, round) : round().then((found) => ({ found, stacks: [] })),
  );
  if (found.stacks.length > 0) {
    const title = `PostgreSQL, ${name}: ${
      found.stacks.length.toLocaleString("en")
    } samples of processor time`;
    draw(`postgresql_${name.replaceAll(/\W+/g, "_")}`, title, found.stacks);
  }
  console.log(["", `Statements of PostgreSQL, ${name}`, ...lines].join("\n"));
  return found.found;
}

function draw(fileName: string, title: string, stacks: readonly Stack[]): void {
  const file = join(folder, `${fileName}.svg`);
  writeFileSync(file, renderFlame(title, stacks));
  const table = (
    by: "itself" | "within",
  ) => ["", ` itself   within, by ${by}`, ...hottest(stacks, by, shown)];
  console.log(["", file, title, ...table("itself"), ...table("within")].join("\n"));
}
