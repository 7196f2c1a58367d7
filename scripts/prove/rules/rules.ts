/**
 * All rules, and what a history breaks of them.
 *
 * @module
 */

import type { History } from "../history.ts";
import { answerRules } from "./answers.ts";
import { deliveryRules } from "./delivered.ts";
import { storeRules } from "./stored.ts";
import { figureRules } from "./figures.ts";

/** Something that must not be. */
export interface Violation {
  readonly rule: string;
  readonly what: string;
}

/** All of them, by name. */
export const rules = { ...storeRules, ...deliveryRules, ...answerRules, ...figureRules };

/** Everything that is wrong with a round. */
export function check(history: History): Violation[] {
  return Object.entries(rules).flatMap(([rule, broken]) => broken(history).map((what) => ({ rule, what })));
}
