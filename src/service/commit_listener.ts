/**
 * What follows a confirmed commit: it counts as a heartbeat, duplicates are counted, and delivery wakes for the tenants with new
 * events. Losing this is harmless, because the outbox was committed with the events.
 */

import type { Delivery } from "../delivery/delivery.ts";
import { isQueued } from "../store/serving/accept.ts";
import type { CommitListener } from "../store/serving/committer.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { Totals } from "../store/serving/totals.ts";

/** Passes commits on to these; `delivery` is `null` without an actions tier. */
export function commitListener(
  { heartbeat, totals, delivery }: { heartbeat: Heartbeat; totals: Totals; delivery: Delivery | null },
): CommitListener {
  return {
    onCommitted(entries, decisions) {
      heartbeat.committed();
      const woken = new Set<number>();
      for (const [index, entry] of entries.entries()) {
        const { kind } = decisions[index] ?? {};
        if (kind === "duplicate") totals.duplicate(entry.keyId);
        else if (kind === "accepted" && isQueued(entry)) woken.add(entry.tenantId);
      }
      delivery?.wake(woken);
    },
    onFailed: (error) => heartbeat.commitFailed(error),
  };
}
