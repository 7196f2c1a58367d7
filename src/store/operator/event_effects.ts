/** Reads the effects of events, and sends events again. */

import { payload } from "../delivery/payload.ts";
import { isoTime, runOperatorCall } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { query } from "../query.ts";

/** An event's effect for one recipient. Times are ISO 8601, UTC. */
export interface ShownEffect {
  readonly effect: string;
  /** A webhook's host, a recipe's name or a masked email address; `null` if the route was removed or changed later. */
  readonly target: string | null;
  /** `failed` will be repeated; `refused` only after a replay; `marked`: marked as done, without sending it. */
  readonly state: "waiting" | "busy" | "done" | "marked" | "failed" | "refused";
  /** When the lease of a busy effect ends. */
  readonly busyUntil: string | null;
  /** The status of the recipient's last response; `null` after the event's content was removed. */
  readonly status: number | null;
  /** The chosen headers of that response, by lower-case name. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** The start of that response's body, in one line. */
  readonly answer: string | null;
  readonly reason: string | null;
  readonly attempts: number;
  readonly settledAt: string | null;
  /** The operator who marked the effect as done; empty for `ctl restored`, which found that in the log; `null` if it is not marked. */
  readonly markedBy: string | null;
}

/** Reads the effects of each event, in the order of `eventIds`. */
export async function readEffects(pool: Pool, eventIds: readonly string[]): Promise<ShownEffect[][]> {
  const rows = await query(pool, (sql) =>
    sql<(ShownEffect & { place: number })[]>`
      select i.place::int, f.effect, f.target, f.state, f.status, f.headers, f.answer, f.reason, f.attempts,
        f.marked_by as "markedBy",
        ${isoTime(sql, sql`f.busy_until`)} as "busyUntil",
        ${isoTime(sql, sql`f.settled_at`)} as "settledAt"
      from unnest(${[...eventIds]}::text[]) with ordinality as i (event_id, place)
      cross join lateral effects_of(i.event_id) as f`);
  return eventIds.map((_, index) =>
    rows.filter(({ place }) => place === index + 1).map(({ place: _, ...effect }) => effect)
  );
}

/** An event as the actions process gets it, with what selects its routes. */
export interface DeliveredText {
  readonly tenant: string;
  readonly source: string;
  /** A submission's form key; empty for a lead. */
  readonly form: string;
  /** The request that delivers the event, as JSON. */
  readonly text: string;
}

/** Reads an event for a dry run of its routes; `null` if it is unknown, `erased` if its content was removed. */
export async function readDelivered(pool: Pool, eventId: string): Promise<DeliveredText | "erased" | null> {
  const [row] = await query(pool, (sql) =>
    sql<(Parameters<typeof payload>[0] & { form: string })[]>`
      select e.event_id, e.kind, t.slug as tenant, k.label as source, m.slug as campaign, 1 as number,
        ${isoTime(sql, sql`e.received_at`)} as received_at, array_to_string(e.flags, ',') as flags,
        e.lead::text as lead, e.extra, coalesce(f.form_key, '') as form
      from event as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      left join campaign as m on m.id = k.campaign_id
      left join submission as s on s.event_id = e.event_id
      left join form as f on f.id = s.form_id
      where e.event_id = ${eventId}`);
  if (row === undefined) return null;
  const { tenant, source, form, lead } = row;
  return lead === null ? "erased" : { tenant, source, form, text: payload(row) };
}

/** Returns the display name for a kind of destination, such as `CRM` or `Email`. */
export function effectName(kind: string): string {
  return kind.length <= 3 ? kind.toUpperCase() : `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
}

/** The outcome of {@linkcode sendAgain}. The event is sent again only after `sent`. */
export type SentAgain =
  | "sent"
  /** The event is pending or being sent. */
  | "waiting"
  /** An attempt was made after the last one that the operator saw. */
  | "already"
  | "dead"
  | "held"
  | "erased"
  | "sandbox"
  | "no_route"
  /** No route of that kind receives the event. */
  | "no_effect"
  | "unknown";

/**
 * Sends a delivered event again, to all recipients or those of the kind `effect`, and audits the call. `seen` is the
 * number of the last attempt that the operator saw, or `null` to skip that check. `operator` is the console operator's
 * name, `null` for ctl.
 */
export async function sendAgain(
  pool: Pool,
  { eventId, effect, seen, operator }: {
    readonly eventId: string;
    readonly effect: string | null;
    readonly seen: number | null;
    readonly operator: string | null;
  },
): Promise<SentAgain> {
  return await runOperatorCall(
    pool,
    operator,
    "send_again",
    (sql) => sql`${eventId}, ${effect}, ${seen}::int`,
  );
}
