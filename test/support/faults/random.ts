/** Seeded randomness: a failure prints the seed, and `FAULT_SEED` repeats the same choices. */

import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import { type Random, seededRandom } from "../../../scripts/prove/random.ts";

export { type Random, seededRandom };

/** Returns a test's random source, from `FAULT_SEED` or a new seed that the test prints. */
export function randomOf(t: TestContext): Random {
  const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`FAULT_SEED=${seed}`);
  return seededRandom(seed);
}
