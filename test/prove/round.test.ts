/**
 * A short proof: one round with each kind of fault, and one with the actions process.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../../scripts/prove/rules/rules.ts";
import { ownTree } from "../../scripts/prove/database.ts";
import type { History } from "../../scripts/prove/history.ts";
import { type Kind, kinds, makePlan, type PlanOptions } from "../../scripts/prove/plan.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { runRound } from "../../scripts/prove/round.ts";
import { describeViolations } from "../../scripts/prove/timeline.ts";

const seed = Number(process.env.FAULT_SEED ?? 20);
const actionsKinds: readonly Kind[] = ["actions_kill", "actions_stop"];

async function round(
  options: Pick<PlanOptions, "runMs" | "hasActions"> & Partial<PlanOptions>,
): Promise<History> {
  const plan = makePlan({
    seed,
    nodes: 2,
    callers: 8,
    pauseMs: 60,
    nodeKillMs: 3_000,
    postgresKillMs: 10_000,
    isEachOnce: true,
    hasOperators: true,
    ...options,
  });
  return await runRound(plan, {
    tree: ownTree,
    diskMegabytes: 256,
    runtimes: ["node", "deno"],
    report: (line) => console.log(line),
  });
}

/** Asserts that each kind of fault occurred and no promise was broken. */
function assertKept(history: History, wanted: readonly Kind[]): void {
  const done = new Set(history.performed.map(({ kind }) => kind));
  const all = wanted.filter((kind) => kind !== "disk_full" || !isSkipped("test/prove/round: full disk"));
  assert.deepEqual(all.filter((kind) => !done.has(kind)), [], `only ${[...done].join(", ")}`);
  assert.ok(history.tables.events.length > 0, "events");
  assert.equal(describeViolations(history, check(history)).join("\n"), "");
}

test(`every promise holds while each fault occurs once (FAULT_SEED=${seed})`, async () => {
  const history = await round({ runMs: 30_000, hasActions: false });
  assertKept(history, Object.values(kinds).flat().filter((kind) => !actionsKinds.includes(kind)));
});

test(`every promise holds with the actions process and CRMs running (FAULT_SEED=${seed})`, async () => {
  const only: readonly Kind[] = ["kill", ...actionsKinds, "downstream_failing", "backends_terminate"];
  assertKept(await round({ runMs: 8_000, hasActions: true, only }), only);
});
