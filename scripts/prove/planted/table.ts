/**
 * The hunt for all planted bugs, and its table.
 *
 * @module
 */

import type { Say } from "../run.ts";
import { bugs, type Hunt, hunt, tryPlan } from "./run.ts";
import { ownTree } from "../database.ts";

/** Hunts those that are named, or all; returns whether each was caught, and the tree itself was found to be clean. */
export async function huntAll(
  names: readonly string[],
  { seed, say }: { readonly seed: number; readonly say: Say },
): Promise<boolean> {
  const unknown = names.filter((name) => !bugs.some((bug) => bug.name === name));
  if (unknown.length > 0) throw new Error(`No planted bug has the name ${unknown[0]}`);
  const hunts: Hunt[] = [];
  const asked = new Set<string>();
  const unclean: string[] = [];
  for (const bug of bugs.filter(({ name }) => names.length === 0 || names.includes(name))) {
    // What would be found without the bug proves nothing.
    const schedule = `${bug.steps} ${bug.hasActions ?? false}`;
    if (!asked.has(schedule)) {
      asked.add(schedule);
      unclean.push(...(await tryPlan(bug, seed, ownTree)).map(({ rule, what }) => `${rule}: ${what}`));
    }
    const one = await hunt(bug, seed);
    hunts.push(one);
    say(
      `${one.caughtBy === null ? "NOT CAUGHT" : "caught    "} ${bug.name}, ${one.seconds.toFixed(0)} s  ${
        one.finding ?? ""
      }`,
    );
  }
  for (const what of unclean) say(`Without a bug: ${what}`);
  say(`\n${tableOf(hunts)}`);
  return unclean.length === 0 && hunts.every(({ caughtBy }) => caughtBy !== null);
}

function tableOf(hunts: readonly Hunt[]): string {
  return [
    "| Planted | What goes wrong | Steps | Caught by the rules | Tries | Seconds |",
    "| --- | --- | --- | --- | ---: | ---: |",
    ...hunts.map(({ bug, caughtBy, tries, seconds }) => {
      const steps = bug.steps.map((step) => `\`${step}\``).join(", ") || "none";
      const rules = caughtBy?.map((rule) => `\`${rule}\``).join(", ") ?? "**not caught**";
      return `| ${bug.name} | ${bug.what} | ${steps} | ${rules} | ${tries} | ${seconds.toFixed(0)} |`;
    }),
    "",
    `${hunts.filter(({ caughtBy }) => caughtBy !== null).length} of ${hunts.length} were caught.`,
  ].join("\n");
}
