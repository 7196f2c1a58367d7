/**
 * The schedule of a round, made of its seed.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds, makePlan } from "../../scripts/prove/plan.ts";

const options = {
  ...{ seed: 11, runMs: 600_000, nodes: 2, hasActions: false, hasOperators: false, callers: 4, pauseMs: 50 },
  ...{ nodeKillMs: 3_000, postgresKillMs: 15_000 },
};
const all: Kind[] = Object.values(kinds).flat();

test("one seed makes one schedule, and another one another", () => {
  assert.deepEqual(makePlan(options), makePlan(options));
  assert.notDeepEqual(makePlan(options).steps, makePlan({ ...options, seed: 12 }).steps);
});

test("kills come at the rates that were asked for", () => {
  const { steps } = makePlan(options);
  const count = (kind: Kind) => steps.filter((step) => step.kind === kind).length;
  assert.ok(Math.abs(count("kill") - 200) < 60, `${count("kill")} kills of the service`);
  assert.ok(Math.abs(count("postgres_kill") - 40) < 20, `${count("postgres_kill")} kills of PostgreSQL`);
});

test("a long schedule has every kind of step, and one with each kind once has that", () => {
  const seen = new Set(
    [true, false].flatMap((hasActions) => makePlan({ ...options, hasActions }).steps.map(({ kind }) => kind)),
  );
  assert.deepEqual(all.filter((kind) => !seen.has(kind)), []);
  const once = makePlan({ ...options, hasActions: true, eachOnce: true, runMs: 30_000, nodes: 1 }).steps.map((
    { kind },
  ) => kind);
  assert.deepEqual(once.toSorted(), all.toSorted());
});
