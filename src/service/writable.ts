/** Reacts when the store stops or resumes accepting writes. */

import type { Observe } from "../observe/observation.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { Heartbeat, WritableReaction } from "../store/serving/heartbeat.ts";
import type { Jobs } from "./jobs.ts";
import { failWaiting, type Pools, renewConnections } from "./pools.ts";

/** The parts that react. */
interface Concerned {
  readonly heartbeat: Heartbeat;
  readonly pools: Pools;
  readonly committer: Committer;
  readonly jobs: Jobs;
  readonly observe: Observe;
}

/** Returns the reaction to each change. */
export function reactionOf(
  { heartbeat, pools, committer, jobs, observe }: Concerned,
): WritableReaction {
  return (writable, error) => {
    if (writable) {
      observe({ kind: "store_writable" });
      // The first heartbeat follows no outage, so keep the new connections.
      if (heartbeat.hasBeaten) renewConnections(pools);
      return;
    }
    observe({ kind: "store_not_writable", error });
    committer.refuseWaiting();
    failWaiting(pools);
    // The feed checks at once whether plans can still be read.
    void jobs.plans?.soon();
  };
}
