/**
 * What lies beside an event, as the console's timeline shows it.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";

/** Who posted an event, and what lies beside it. Times are ISO 8601, UTC. */
export interface EventSurroundings {
  readonly keyId: string;
  readonly last4: string;
  readonly keyRevokedAt: string | null;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  /** `k`, `K`: by its Idempotency-Key; `c`, `C`: by its content. */
  readonly dedupeSpace: string;
  /** When its content went, and by what. */
  readonly removed: { readonly at: string; readonly by: "erasure" | "retention" } | null;
  /** The newest first. */
  readonly collisions: readonly { readonly id: string; readonly firstAt: string; readonly count: number }[];
}

// An event has seldom more than one.
const collisionsMax = 50;

/** What lies beside an event, or `null` when there is no such event. */
export async function readSurroundings(pool: Pool, eventId: string): Promise<EventSurroundings | null> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<
      {
        key_id: number;
        last4: string;
        revoked_at: string | null;
        sandbox: boolean;
        has_route: boolean;
        dedupe_space: string;
        removed_at: string | null;
        removed_by: "erasure" | "retention" | null;
        collisions: { id: string; firstAt: string; count: number }[];
      }[]
    >`
      select
        k.id as key_id, k.last4, t.sandbox, t.has_route, e.dedupe_space::text, e.removed_by,
        to_char(e.removed_at at time zone 'UTC', ${isoTime}) as removed_at,
        to_char(k.revoked_at at time zone 'UTC', ${isoTime}) as revoked_at,
        coalesce(
          (
            select json_agg(
              json_build_object(
                'id', c.id::text, 'firstAt', to_char(c.first_at at time zone 'UTC', ${isoTime}), 'count', c.count
              )
              order by c.id desc
            )
            from (
              select * from collision as c where c.event_id = e.event_id order by c.id desc limit ${collisionsMax}
            ) as c
          ),
          '[]'
        ) as collisions
      from event as e
      join api_key as k on k.id = e.key_id
      join tenant as t on t.id = e.tenant_id
      where e.event_id = ${eventId}`);
  if (row === undefined) return null;
  return {
    keyId: String(row.key_id),
    last4: row.last4,
    keyRevokedAt: row.revoked_at,
    sandbox: row.sandbox,
    hasRoute: row.has_route,
    dedupeSpace: row.dedupe_space,
    removed: row.removed_at === null || row.removed_by === null
      ? null
      : { at: row.removed_at, by: row.removed_by },
    collisions: row.collisions,
  };
}
