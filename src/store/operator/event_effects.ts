/** The effects of an event, one per recipient, and sending an event again. */

import { ask, decide, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** One effect; times are ISO 8601, UTC. */
export interface ShownEffect {
  readonly effect: string;
  /** A webhook's host or a mail address, never a path or a secret; `null` when its route is gone or has changed. */
  readonly target: string | null;
  readonly state: "waiting" | "busy" | "done" | "failed";
  /** While it is busy: its lease's end. */
  readonly busyUntil: string | null;
  /** The recipient's last response; `null` once the event's content is removed. */
  readonly status: number | null;
  /** The start of its body, in one line. */
  readonly answer: string | null;
  readonly reason: string | null;
  readonly attempts: number;
  readonly settledAt: string | null;
}

/** The effects of each event, in the order of the ids. */
export async function readEffects(pool: Pool, eventIds: readonly string[]): Promise<ShownEffect[][]> {
  const rows = await ask(pool, (sql) =>
    sql<(ShownEffect & { place: number })[]>`
      select i.place::int, f.effect, f.target, f.state, f.status, f.answer, f.reason, f.attempts,
        ${isoOf(sql, sql`f.busy_until`)} as "busyUntil",
        ${isoOf(sql, sql`f.settled_at`)} as "settledAt"
      from unnest(${[...eventIds]}::text[]) with ordinality as i (event_id, place)
      cross join lateral effects_of(i.event_id) as f`);
  return eventIds.map((_, index) =>
    rows.filter(({ place }) => place === index + 1).map(({ place: _, ...effect }) => effect)
  );
}

/** The display name of a kind of destination: `CRM`, `Email`. */
export function effectName(kind: string): string {
  return kind.length <= 3 ? kind.toUpperCase() : `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
}

/** The outcome of {@linkcode sendAgain}; all but `sent` change nothing. */
export type SentAgain =
  | "sent"
  /** It is being sent or was never delivered. */
  | "waiting"
  /** It was sent after the operator looked. */
  | "already"
  | "dead"
  | "held"
  | "erased"
  | "sandbox"
  | "no_route"
  /** No route of that kind takes it. */
  | "no_effect"
  | "unknown";

/**
 * Sends a delivered event again, to all recipients or one kind, and audits it. `address` is the console's client,
 * `null` for ctl. `seen` is the last attempt's number that the operator saw; a later one gives `already`.
 */
export async function sendAgain(
  pool: Pool,
  { eventId, effect, seen, address }: {
    readonly eventId: string;
    readonly effect: string | null;
    readonly seen: number | null;
    readonly address: string | null;
  },
): Promise<SentAgain> {
  return await decide(pool, address, "send_again", (sql) => sql`${eventId}, ${effect}, ${seen}::int`);
}
