/**
 * What has become of events after their commit.
 *
 * @module
 */

import type { Pool } from "../sql.ts";
import { adminDeadlineMs } from "./pool.ts";

/** The delivery of one event. */
export interface Delivery {
  readonly state: "pending" | "delivered";
  readonly attempts: readonly unknown[];
}

/** The deliveries of events, in the order of the ids. An event whose outbox row is gone is settled. */
export async function readDeliveries(pool: Pool, eventIds: readonly string[]): Promise<Delivery[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ event_id: string }[]>`
      select o.event_id
      from unnest(${[
      ...eventIds,
    ]}::text[]) as i (event_id) join outbox as o on o.event_id = i.event_id collate "C"`);
  const pending = new Set(rows.map((row) => row.event_id));
  return eventIds.map((id) => ({ state: pending.has(id) ? "pending" : "delivered", attempts: [] }));
}
