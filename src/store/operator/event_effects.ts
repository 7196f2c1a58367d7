/**
 * What became of the effects of an event, one a recipient, and having them done once more.
 *
 * @module
 */

import { acted, ask, askOne, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** One effect; times are ISO 8601, UTC. */
export interface ShownEffect {
  /** That of its destination. */
  readonly effect: string;
  /**
   * Who it is for: the host of a webhook or the address of a mail, never a path, a token or a secret; `null` when its route
   * is gone, or has changed since it was done.
   */
  readonly target: string | null;
  readonly state: "waiting" | "busy" | "done" | "failed";
  /** While it is busy: until when at most. */
  readonly busyUntil: string | null;
  /** What the other side said last; `null` once the event's content has gone. */
  readonly status: number | null;
  /** The beginning of its answer, one line. */
  readonly answer: string | null;
  /** Why the last attempt failed, in a word. */
  readonly reason: string | null;
  readonly attempts: number;
  /** When the last attempt ended. */
  readonly settledAt: string | null;
}

/** The effects of events, in the order of the ids; none of an event for which nothing was begun. */
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

/** The name of a kind of destination for people: `CRM`, `Email`. */
export function effectName(kind: string): string {
  return kind.length <= 3 ? kind.toUpperCase() : `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
}

/** What became of a wish to send an event again; all but `sent` have changed nothing. */
export type SentAgain =
  | "sent"
  /** It is on its way already, or was not delivered yet. */
  | "waiting"
  /** It was sent since the asker looked. */
  | "already"
  | "dead"
  | "held"
  | "erased"
  | "sandbox"
  /** Nothing takes it. */
  | "no_route"
  /** Nothing of that kind takes it. */
  | "no_effect"
  | "unknown";

/**
 * Has a delivered event sent once more, all its effects or those of one kind, and notes it in the audit, in the same
 * transaction. `address` is where the console was asked from, `null` for the operator's command. `seen` is the number of
 * its last attempt that the asker saw: what came since makes it `already`, and with `null` nothing does.
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
  const row = await askOne(pool, (sql) => {
    const sent = acted(sql, address, "send_again", sql`${eventId}, ${effect}, ${seen}::int`);
    return sql<{ sent: SentAgain }[]>`select ${sent} as sent`;
  });
  return row?.sent ?? "unknown";
}
