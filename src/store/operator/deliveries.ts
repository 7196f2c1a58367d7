/**
 * What has become of events after their commit.
 *
 * @module
 */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";

/**
 * Where an event stands. `sending`: claimed, under a lease that has not run out; `held`: a form submission that is not
 * delivered unless an operator releases it; `erased`: its content went before it was delivered.
 */
export type DeliveryState = "held" | "pending" | "sending" | "delivered" | "dead" | "erased";

/** One attempt to deliver an event. */
export interface Attempt {
  /** From 1; never begins anew, not even after a replay. */
  readonly number: number;
  /** When it began, or for a lost one when the loss was found; ISO 8601, UTC. */
  readonly at: string;
  /** `lost`: the process that made it ended. */
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost";
  /** The HTTP status, where there was one. */
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  /** Whether it counts towards the attempts after which an event is dead. */
  readonly spent: boolean;
}

/** The whole story of one event; times are ISO 8601, UTC. */
export type Delivery =
  & { readonly attempts: readonly Attempt[] }
  & (
    | { readonly state: "pending"; readonly dueAt: string; readonly reason: string | null }
    | { readonly state: "sending"; readonly leaseUntil: string }
    | { readonly state: "held" | "delivered" | "erased" }
    | { readonly state: "dead"; readonly diedAt: string; readonly reason: string | null }
  );

interface DeliveryRow {
  event_id: string;
  state: DeliveryState;
  due_at: string;
  lease_until: string;
  died_at: string;
  reason: string | null;
  attempts: {
    number: number;
    at: string;
    outcome: Attempt["outcome"];
    status: number | null;
    reason: string | null;
    duration_ms: number | null;
    spent: boolean;
  }[];
}

// Of the outbox row o, the dead letter d, the held submission s and the event r whose content is removed.
const stateOf = (sql: postgres.Sql) =>
  sql`case
    when d.event_id is not null then 'dead'
    when o.lease_until > service_clock() then 'sending'
    when o.event_id is not null then 'pending'
    when r.event_id is not null and not exists (
      select from attempt as a where a.event_id = r.event_id and a.outcome = 'delivered'
    ) then 'erased'
    when s.event_id is not null then 'held'
    else 'delivered'
  end`;

const heldAndRemoved = (sql: postgres.Sql) =>
  sql`left join submission as s
    on s.event_id = i.event_id collate "C" and s.verdict <> 'clean' and s.released_at is null
  left join event as r on r.event_id = i.event_id collate "C" and r.removed_at is not null`;

/**
 * Where events stand, in the order of the ids. An event that is neither in the outbox nor dead nor held nor erased
 * is delivered; so the ids must be those of events.
 */
export async function readStates(pool: Pool, eventIds: readonly string[]): Promise<DeliveryState[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ state: DeliveryState }[]>`
      select ${stateOf(sql)} as state
      from unnest(${[...eventIds]}::text[]) with ordinality as i (event_id, ord)
      left join outbox as o on o.event_id = i.event_id collate "C"
      left join dead_letter as d on d.event_id = i.event_id collate "C"
      ${heldAndRemoved(sql)}
      order by i.ord`);
  return rows.map((row) => row.state);
}

/** The deliveries of events, in the order of the ids, which must be those of events. */
export async function readDeliveries(pool: Pool, eventIds: readonly string[]): Promise<Delivery[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) => {
    return sql<DeliveryRow[]>`
      select
        i.event_id,
        ${stateOf(sql)} as state,
        to_char(o.due_at at time zone 'UTC', ${isoTime}) as due_at,
        to_char(o.lease_until at time zone 'UTC', ${isoTime}) as lease_until,
        to_char(d.died_at at time zone 'UTC', ${isoTime}) as died_at,
        case
          when d.event_id is not null then d.reason
          when not t.sandbox and not t.has_route then 'no_route'
          else o.reason
        end as reason,
        coalesce(
          (
            select json_agg(
              json_build_object(
                'number', a.number, 'at', to_char(a.at at time zone 'UTC', ${isoTime}), 'outcome', a.outcome,
                'status', a.status, 'reason', a.reason, 'duration_ms', a.duration_ms, 'spent', a.spent
              )
              order by a.number
            )
            from attempt as a where a.event_id = i.event_id collate "C"
          ),
          '[]'
        ) as attempts
      from unnest(${[...eventIds]}::text[]) with ordinality as i (event_id, ord)
      left join outbox as o on o.event_id = i.event_id collate "C"
      left join dead_letter as d on d.event_id = i.event_id collate "C"
      ${heldAndRemoved(sql)}
      left join tenant as t on t.id = o.tenant_id
      order by i.ord`;
  });
  return rows.map(delivery);
}

function delivery(row: DeliveryRow): Delivery {
  const attempts = row.attempts.map(({ duration_ms: durationMs, ...attempt }) => ({
    ...attempt,
    durationMs,
  }));
  const { state, reason } = row;
  switch (state) {
    case "pending":
      return { state, dueAt: row.due_at, reason, attempts };
    case "sending":
      return { state, leaseUntil: row.lease_until, attempts };
    case "held":
    case "erased":
    case "delivered":
      return { state, attempts };
    case "dead":
      return { state, diedAt: row.died_at, reason, attempts };
  }
}
