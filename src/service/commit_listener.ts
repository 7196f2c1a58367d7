/**
 * Reacts to a confirmed commit: informs the heartbeat, counts duplicates, and wakes delivery for tenants with new
 * events. A lost wake-up is harmless, because the outbox was committed with the events and is polled.
 */

import type { Delivery } from "../delivery/delivery.ts";
import { isQueued } from "../store/serving/accept.ts";
import type { CommitListener } from "../store/serving/committer.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { Totals } from "../store/serving/totals.ts";

/** `delivery` is `null` if this process does not deliver. */
export function createCommitListener(
  { heartbeat, totals, delivery }: { heartbeat: Heartbeat; totals: Totals; delivery: Delivery | null },
): CommitListener {
  return {
    onCommitted(entries, decisions) {
      heartbeat.recordCommit();
      const tenantIds = new Set<number>();
      for (const [index, entry] of entries.entries()) {
        const decision = decisions[index];
        if (decision?.kind === "duplicate") {
          // Not the whole entry, which has the body.
          const { keyId, requestId, idempotencyKey, arrivedAtMs } = entry;
          const { eventId, isCollision } = decision;
          totals.duplicate(entry.keyId);
          totals.log.add({
            keyId,
            requestId,
            idempotencyKey,
            arrivedAtMs,
            status: 200,
            eventId,
            isCollision,
          });
        } else if (decision?.kind === "accepted" && isQueued(entry)) tenantIds.add(entry.tenantId);
      }
      delivery?.wake(tenantIds);
    },
    onFailed: (error) => heartbeat.recordFailedCommit(error),
  };
}
