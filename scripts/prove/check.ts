/**
 * All rules, and what a history breaks of them.
 *
 * @module
 */

import type { History, Violation } from "./history.ts";
import {
  documented,
  inFlightIsFinished,
  noCrash,
  noRefusalWithoutCause,
  revokedKeysEnd,
  sourceIsLabel,
} from "./rules/answers.ts";
import {
  attemptsAddUp,
  certificatesRenewed,
  deliveredAsStored,
  deliveredAtLeastOnce,
  effectsOnce,
  repeatedOnlyByFaults,
  sandboxStays,
} from "./rules/delivered.ts";
import { countsAddUp, healthIsTrue, logsAreClean } from "./rules/figures.ts";
import { limitsHold } from "./rules/limits.ts";
import type { Rule } from "./rules/rule.ts";
import {
  collisionsKept,
  duplicatesName,
  noFalseAnswer,
  normalized,
  sorted,
  storedOnce,
} from "./rules/stored.ts";

/** Each promise that is looked at. */
export const rules: readonly Rule[] = [
  storedOnce,
  noFalseAnswer,
  duplicatesName,
  collisionsKept,
  normalized,
  sorted,
  deliveredAtLeastOnce,
  deliveredAsStored,
  repeatedOnlyByFaults,
  effectsOnce,
  attemptsAddUp,
  sandboxStays,
  revokedKeysEnd,
  documented,
  sourceIsLabel,
  noRefusalWithoutCause,
  limitsHold,
  inFlightIsFinished,
  noCrash,
  countsAddUp,
  healthIsTrue,
  certificatesRenewed,
  logsAreClean,
];

/** Everything that is wrong with a round. */
export function check(history: History): Violation[] {
  return rules.flatMap((rule) => rule.broken(history).map((what) => ({ rule: rule.name, what })));
}
