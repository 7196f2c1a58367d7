/**
 * All rules, and the function that applies them.
 *
 * @module
 */

import type { History } from "../history.ts";
import { responseRules } from "./responses.ts";
import { deliveryRules } from "./delivered.ts";
import { storeRules } from "./stored.ts";
import { figureRules } from "./figures.ts";

/** A broken promise. */
export interface Violation {
  readonly rule: string;
  readonly what: string;
}

/** All rules by name. */
export const rules = { ...storeRules, ...deliveryRules, ...responseRules, ...figureRules };

/** Returns all violations in a round's history. */
export function check(history: History): Violation[] {
  return Object.entries(rules).flatMap(([rule, broken]) => broken(history).map((what) => ({ rule, what })));
}
