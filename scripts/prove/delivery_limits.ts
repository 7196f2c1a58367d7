/**
 * The time limits with which the processes deliver in a round.
 *
 * @module
 */

/** The time limits of an effect, of a send and of a claim of an event. */
export interface DeliveryLimits {
  readonly effectMs: number;
  readonly sendMs: number;
  readonly claimMs: number;
}
/**
 * Returns the time limits of a round. With the actions process they are longer, because the model expects that each effect
 * succeeds the first time, and an email takes a second on a machine that is busy with other tests.
 */
export const limitsOf = ({ hasActions }: { readonly hasActions: boolean }): DeliveryLimits =>
  hasActions
    ? { effectMs: 6_000, sendMs: 12_500, claimMs: 28_000 }
    : { effectMs: 1_200, sendMs: 2_500, claimMs: 7_000 };
