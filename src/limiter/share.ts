/**
 * How a limit is shared by nodes: the figures that a node lives by, each with what it bounds.
 *
 * A *node* is a process that serves the same limit; N of them share a bucket of `burst` tokens (B) that earns `perMinute`
 * (R). The bound to keep is that of one node: in no minute more than B + R, give or take 2 %, however requests are spread,
 * and no refusal of a client that stays within its limit.
 *
 * This module is browser compatible.
 *
 * @module
 */

import type { Rate } from "../contract/limits.ts";

// The parts of B + R that all nodes together may be wrong by: what they spend unseen, and what they spend unleased.
const unseenPart = 0.005;
const unleasedPart = 0.0175;
// The part of R that nodes may use up together before anybody leases.
const coldPart = 0.2;

/**
 * What a node spends of a key before it has to lease: a bucket of its own. Over a minute all nodes together spend at
 * most a fifth of R unseen, and the bucket's burst, which is half a per cent of B + R and no less than one request each.
 */
export function unseenRate({ perMinute, burst }: Rate, nodes: number): Rate {
  return {
    perMinute: coldPart * perMinute / nodes,
    burst: Math.max(1, Math.floor(unseenPart * (burst + perMinute) / nodes)),
  };
}

/**
 * The bucket at this node of a key that it has not leased: all of B, as long as that is no more for all other nodes together
 * than what is left of a minute's R. So the bound holds when a node that has leased all of it, and all others that do not know
 * of it yet, are asked for all of it in the same millisecond: what was spent too early is owed, and earned before anything
 * else is granted.
 */
export function coldRate({ perMinute, burst }: Rate, nodes: number): Rate {
  const most = Math.floor((1 - coldPart) * perMinute / Math.max(1, nodes - 1));
  return { perMinute, burst: Math.min(burst, Math.max(1, most)) };
}

/** What a node has of a limit when it cannot ask: an equal share of it. */
export function equalRate({ perMinute, burst }: Rate, nodes: number): Rate {
  return { perMinute: perMinute / nodes, burst: Math.max(1, burst / nodes) };
}

/**
 * The tokens that a node may have although the others hold all there are: one and three quarters per cent of B + R for all
 * the others together, and no less than one each, so that the first request at a node that had none is not refused.
 */
export function unleasedTokens({ perMinute, burst }: Rate, nodes: number): number {
  return Math.max(1, Math.floor(unleasedPart * (burst + perMinute) / Math.max(1, nodes - 1)));
}

/**
 * The tokens that a node has at once of a key that it has not used for a while, until the store answers. `unspent` is what was
 * left for all and has been earned since, also beyond a burst, and `spent` what this node has spent in the last minute, when no
 * other has leased the key in it. One node may have leased all of a burst, and the others share what else is left of a minute:
 * so all together spend no more than the bound.
 */
export function resumedTokens(rate: Rate, nodes: number, { unspent, spent }: Unspent): number {
  const { perMinute, burst } = rate;
  const others = Math.max(1, nodes - 1);
  const ofMinute = Math.max(unspent - burst, (1 - coldPart) * perMinute - spent);
  return Math.min(
    burst,
    Math.max(unleasedTokens(rate, nodes), Math.floor(Math.min(unspent, ofMinute / others))),
  );
}

/** What a node knows of a key that it has not used for a while. In tokens. */
export interface Unspent {
  readonly unspent: number;
  /** `Infinity` when others have spent as well. */
  readonly spent: number;
}
