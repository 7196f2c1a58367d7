/**
 * What the next claim asks for.
 *
 * @module
 */

import type { ClaimRequest } from "../store/delivery/outbox.ts";
import type { TenantQueue } from "./tenant_queue.ts";

// Bounds a claim's statement.
const claimMax = 512;
/**
 * Under a backlog so much work is claimed ahead.
 *
 * Chosen: a claim of hundreds of rows costs a fraction of one of sixteen, a row: 132 µs of PostgreSQL with its settlement in
 * batches of 16, 52 in batches of 64, 36 in batches of 256. What waits here is lost for the length of a lease when the
 * process dies, and counts as an attempt.
 */
const aheadMs = 250;
// Bounds the payloads in memory: beyond it a tenant gets no more than `readyMin` rows ready.
const readyMax = 1_024;
const readyMin = 2;
// Bounds the work of each answer: tenants with nothing ready that a claim looks at. The others' turn comes.
const waitingMax = claimMax / readyMin;
/** What is asked of a tenant, and since when its floor is known. */
export type PlannedRequest = ClaimRequest & { readonly era: number };

/**
 * As many rows ready as slots are free, so that an answer finds the next one, and under a backlog what is soon sent;
 * but never none of a tenant, however much of what is ready belongs to others. Empty: nothing is to be claimed now.
 *
 * @param state `free`: requests that may be started; `ready`: claimed rows of all tenants; `endingWithin`: deliveries that
 * will have ended in so many milliseconds
 */
export function planClaim(
  tenants: Iterable<TenantQueue>,
  { free, ready: readyCount, endingWithin }: {
    readonly free: number;
    readonly ready: number;
    readonly endingWithin: (ms: number) => number;
  },
): PlannedRequest[] {
  const queues: TenantQueue[] = [];
  let waiting = 0;
  for (const queue of tenants) {
    if (!queue.mayHaveDue) continue;
    queues.push(queue);
    if (queue.ready.length === 0) waiting += 1;
    if (waiting === waitingMax) break;
  }
  if (queues.length === 0) return [];
  const ahead = Math.ceil(endingWithin(aheadMs) / queues.length);
  const target = readyCount < readyMax ? Math.max(readyMin, 2 * free, ahead) : readyMin;
  // Not for a few rows more: a claim costs much the same for one as for a hundred.
  if (!queues.some(({ ready }) => ready.length === 0 || ready.length <= target / 2)) return [];
  const requests: PlannedRequest[] = [];
  let left = claimMax;
  for (const queue of queues) {
    const limit = Math.min(left, target - queue.ready.length);
    if (limit <= 0) continue;
    const { tenantId, floor, era } = queue;
    requests.push({ tenantId, floor, era, limit });
    left -= limit;
    if (left <= 0) break;
  }
  return requests;
}
