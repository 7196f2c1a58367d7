/**
 * The proof in small: each kind of fault once, with everything that the long run has.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../../scripts/prove/rules/rules.ts";
import { ownTree } from "../../scripts/prove/database.ts";
import type { History } from "../../scripts/prove/history.ts";
import { type Kind, kinds, makePlan, type PlanOptions } from "../../scripts/prove/plan.ts";
import { isLeftOut } from "../../scripts/test_plan.ts";
import { runRound } from "../../scripts/prove/round.ts";

const seed = Number(process.env.FAULT_SEED ?? 20);
const ofActions: readonly Kind[] = ["actions_kill", "actions_stop"];

async function round(
  options: Pick<PlanOptions, "runMs" | "hasActions"> & Partial<PlanOptions>,
): Promise<History> {
  const plan = makePlan({
    ...{
      seed,
      nodes: 2,
      callers: 8,
      pauseMs: 60,
      nodeKillMs: 3_000,
      postgresKillMs: 10_000,
      eachOnce: true,
      hasOperators: true,
      ...options,
    },
  });
  return await runRound(plan, {
    ...{ tree: ownTree, diskMegabytes: 256, runtimes: ["node", "deno"] },
  });
}

/** Each kind was done, and no promise was broken. */
function assertKept(history: History, wanted: readonly Kind[]): void {
  const done = new Set(history.happened.map(({ kind }) => kind));
  const all = wanted.filter((kind) => kind !== "disk_full" || !isLeftOut("test/prove/round: full disk"));
  assert.deepEqual(all.filter((kind) => !done.has(kind)), [], `of ${[...done].join(", ")}`);
  assert.ok(history.tables.events.length > 0, "events");
  assert.deepEqual(check(history).map(({ rule, what }) => `${rule}: ${what}`), []);
}

test(`every promise is kept while each fault happens once (FAULT_SEED=${seed})`, async () => {
  const history = await round({ runMs: 30_000, hasActions: false });
  assertKept(history, Object.values(kinds).flat().filter((kind) => !ofActions.includes(kind)));
});

test(`every promise is kept with the actions process and CRMs behind it (FAULT_SEED=${seed})`, async () => {
  const only: readonly Kind[] = ["kill", ...ofActions, "downstream_failing", "backends_terminate"];
  assertKept(await round({ runMs: 8_000, hasActions: true, only }), only);
});
