/**
 * The hand-over from commit to delivery, the heart of the product. A confirmed batch
 *
 * - is a beat of the store's heart,
 * - counts the repeats of earlier posts,
 * - wakes the delivery of whoever has something new, long before the next look at the outbox would find it.
 *
 * It may be lost: the outbox was written with the events, and is the truth.
 *
 * @module
 */

import type { Delivery } from "../delivery/delivery.ts";
import { isQueued } from "../store/serving/accept.ts";
import type { HandOver } from "../store/serving/committer.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { Totals } from "../store/serving/totals.ts";

/** Hands over to these; `delivery` is `null` without an actions tier. */
export function handOver(
  { heartbeat, totals, delivery }: { heartbeat: Heartbeat; totals: Totals; delivery: Delivery | null },
): HandOver {
  return {
    committed(entries, decisions) {
      heartbeat.committed();
      const woken = new Set<number>();
      for (const [index, entry] of entries.entries()) {
        const { kind } = decisions[index] ?? {};
        if (kind === "duplicate") totals.duplicate(entry.keyId);
        else if (kind === "accepted" && isQueued(entry)) woken.add(entry.tenantId);
      }
      delivery?.wake(woken);
    },
    failed: (error) => heartbeat.commitFailed(error),
  };
}
