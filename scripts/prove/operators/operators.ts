/**
 * The operators' work in a round. All tables are read before and after each operation, and every row is compared with the one
 * that the model computes.
 *
 * @module
 */

import {
  addCustomers,
  addKeys,
  changeForms,
  changePlans,
  changeVocabulary,
  compareRolledUpReport,
  openHeldLinks,
  revoke,
} from "./customers.ts";
import type { OperatorRun } from "./operator_run.ts";
import { runsMin } from "./operator_run.ts";
import { changeQueue, refuseSentAgain, resetSentAgain } from "./queue.ts";
import { postAfterErasure, raiseRetention, removeContent, repeatRemoved } from "./removal.ts";

/** Completes the callers' rare operations, changes terms and keys while clients post, and posts leads for {@linkcode work}. */
export async function post(run: OperatorRun): Promise<void> {
  await run.callers.completeOperations(runsMin);
  await changeVocabulary(run);
  await addKeys(run);
  await revoke(run);
  await run.callers.postRelated(runsMin);
}

/** Runs the operations that are compared with the model. */
export async function work(run: OperatorRun): Promise<void> {
  await addCustomers(run);
  await postAfterErasure(run);
  await openHeldLinks(run);
  await refuseSentAgain(run);
  await resetSentAgain(run);
  await run.whilePaused(() => changeQueue(run));
  await run.whilePaused(() => removeContent(run));
  await run.whilePaused(() => raiseRetention(run));
  await changeForms(run);
  await repeatRemoved(run);
  await changePlans(run);
  await compareRolledUpReport(run);
  await run.ctl.run("audit", "verify");
}
