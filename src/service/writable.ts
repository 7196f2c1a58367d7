/**
 * What is done at once when the store stops taking writes, and when it takes them again.
 *
 * @module
 */

import type { Observe } from "../observe/observation.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { Heartbeat, WritableReaction } from "../store/serving/heartbeat.ts";
import type { Jobs } from "./jobs.ts";
import { failWaiting, type Pools, renewConnections } from "./pools.ts";

/** What has to know. */
interface Concerned {
  readonly heartbeat: Heartbeat;
  readonly pools: Pools;
  readonly committer: Committer;
  readonly jobs: Jobs;
  readonly observe: Observe;
}

/** The reaction to each change. */
export function reactionOf(
  { heartbeat, pools, committer, jobs, observe }: Concerned,
): WritableReaction {
  return (writable, error) => {
    if (writable) {
      observe({ kind: "store_writable" });
      // With the first beat nothing was away: what has just been opened is kept.
      if (heartbeat.hasBeaten) renewConnections(pools);
      return;
    }
    observe({ kind: "store_not_writable", error });
    committer.refuseWaiting();
    failWaiting(pools);
    // The feed finds out at once whether the plans can be read all the same.
    void jobs.plans?.soon();
  };
}
