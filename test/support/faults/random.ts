/** Seeded randomness: a failure prints the seed, and `FAULT_SEED` repeats the same choices. */

import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import { type Chance, chance } from "../../../scripts/prove/chance.ts";

export { type Chance, chance };

/** The chance of one test: from `FAULT_SEED`, or a fresh one; the seed stands in the test's output. */
export function chanceOf(t: TestContext): Chance {
  const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`FAULT_SEED=${seed}`);
  return chance(seed);
}

/** How many rounds a test goes: `FAULT_ROUNDS` for a long run, otherwise `usual`. */
export function rounds(usual: number): number {
  return Number(process.env.FAULT_ROUNDS ?? usual);
}
