/**
 * A run: rounds one after the other, each by a seed of its own, and what is done when one has broken a promise.
 *
 * @module
 */

import { check } from "./check.ts";
import { nowMs } from "./clock.ts";
import type { Violation } from "./history.ts";
import type { Options } from "./options.ts";
import { makePlan, type Plan, type Step, stepLine } from "./plan.ts";
import { runRound } from "./round.ts";
import { shrink } from "./shrink.ts";
import { Tally } from "./tally.ts";
import { ownTree } from "./database.ts";

/** Where a run tells of itself. */
export type Say = (line: string) => void;

interface Failed {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
}

const calmMs = 5_000;
const drainMs = 60_000;
// Findings that are shown of a round.
const shownMax = 12;

/** The plan of a round: all that differs between rounds is in its seed. */
export function planOf(seed: number, options: Options): Plan {
  return makePlan({
    seed,
    runMs: options.roundSeconds * 1000,
    nodes: options.nodes,
    // Each third round has the actions process itself.
    hasActions: seed % 3 === 2,
    callers: options.callers,
    pauseMs: options.pauseMs,
    nodeKillMs: 60_000 / options.killsPerMinute,
    postgresKillMs: 60_000 / options.postgresKillsPerMinute,
  });
}

/** Runs one plan and looks at what came of it. */
async function runOne(plan: Plan) {
  const startedAtMs = nowMs();
  const history = await runRound(plan, {
    ...{ tree: ownTree, diskMegabytes: 1024, calmMs, drainMs },
    // In each fourth round the last service process runs on Deno.
    runtimes: plan.seed % 4 === 3 ? ["node", "deno"] : ["node"],
  });
  return { history, violations: check(history), runMs: nowMs() - startedAtMs };
}

/** Runs rounds until the time is over; returns whether every promise was kept. */
export async function prove(options: Options, say: Say): Promise<boolean> {
  const tally = new Tally();
  const failed: Failed[] = [];
  const endsAtMs = nowMs() + options.minutes * 60_000;
  say(`npm run prove -- --seed ${options.seed} --minutes ${options.minutes}`);
  for (let round = 0; round === 0 || nowMs() < endsAtMs; round += 1) {
    const plan = planOf(options.seed + round, options);
    const one = await runOne(plan);
    tally.add(one.history, one);
    const { history, violations, runMs } = one;
    const kills = history.happened.filter(({ kind }) => kind.startsWith("kill")).length;
    say(
      `round ${
        round + 1
      }, seed ${plan.seed}: ${history.asked.length} requests, ${history.tables.events.length} events, ` +
        `${history.happened.length} steps, ${kills} kills, ${violations.length} violations, ${
          Math.round(runMs / 1000)
        } s`,
    );
    if (violations.length === 0) continue;
    failed.push({ plan, violations });
    for (const { rule, what } of violations.slice(0, shownMax)) say(`  ${rule}: ${what}`);
    if (violations.length > shownMax) say(`  and ${violations.length - shownMax} more`);
  }
  say(`\n${tally.text()}`);
  const [first] = failed;
  if (first !== undefined && options.shrinkTries > 0) await explain(first, options, say);
  return failed.length === 0;
}

/** A step of the schedule, or a client. */
type Item = { readonly step: Step } | { readonly caller: number };

/** Prints the smallest schedule that still breaks the same promise. */
async function explain({ plan, violations }: Failed, { shrinkTries }: Options, say: Say): Promise<void> {
  const rule = violations[0]?.rule;
  say(
    `\nLooking for the smallest schedule of seed ${plan.seed} that still breaks "${rule}", in ${shrinkTries} tries at most`,
  );
  const items: Item[] = [
    ...plan.steps.map((step) => ({ step })),
    ...plan.callers.map((caller) => ({ caller })),
  ];
  const { items: rest, tries } = await shrink(items, async (some) => {
    const smaller = planWith(plan, some);
    if (smaller.callers.length === 0) return false;
    const found = (await runOne(smaller)).violations.some((one) => one.rule === rule);
    say(`  ${smaller.steps.length} steps, ${smaller.callers.length} clients: ${found ? "broken" : "kept"}`);
    return found;
  }, { triesMax: shrinkTries });
  const smallest = planWith(plan, rest);
  say(
    `\nAfter ${tries} tries: clients ${smallest.callers.join(", ")}, ${
      (smallest.runMs / 1000).toFixed(0)
    } s, and`,
  );
  for (const step of smallest.steps) say(stepLine(step));
}

function planWith(plan: Plan, items: readonly Item[]): Plan {
  return {
    ...plan,
    steps: items.flatMap((item) => "step" in item ? [item.step] : []),
    callers: items.flatMap((item) => "caller" in item ? [item.caller] : []),
  };
}
