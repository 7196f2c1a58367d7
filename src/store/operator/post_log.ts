/** Reads the post log (posts that made no event), and erases identifiers from it. */

import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { isoTime } from "./admin_pool.ts";
import type { StoredEvent } from "./events.ts";

/** A post that was answered with 200 `duplicate`, and that no collision counts. */
export interface DuplicatePost {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly keyId: string;
  readonly source: string;
  /** This and `idempotencyKey` are `null` after an erasure; a duplicate by content has no `idempotencyKey`. */
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
}

/** The maximum number of an event's duplicates that are read. */
export const duplicatesMax = 50;

/** Reads the last duplicates of an event from the last 30 days, earliest first. */
export async function readDuplicates(pool: Pool, eventId: string): Promise<readonly DuplicatePost[]> {
  const newestFirst = await query(pool, (sql) =>
    sql<DuplicatePost[]>`
      select ${isoTime(sql, sql`p.at`)} as at, p.key_id::text as "keyId", k.label as source,
        p.request_id as "requestId", p.idempotency_key as "idempotencyKey"
      from post_log as p join api_key as k on k.id = p.key_id
      where p.event_id = ${eventId} and not p.is_collision
      order by p.id desc limit ${duplicatesMax}`);
  return newestFirst.toReversed();
}

/** Describes a duplicate: `posted 4 minutes later with the same Idempotency-Key (request id 7f…)`. */
export function duplicateText(
  { at, keyId, source, requestId }: DuplicatePost,
  event: Pick<StoredEvent, "receivedAt" | "keyId" | "dedupeSpace">,
): string {
  const what = /k/i.test(event.dedupeSpace) ? "Idempotency-Key" : "content";
  const sender = keyId === event.keyId ? "" : ` by ${source}`;
  return `posted ${laterText(event.receivedAt, at)}${sender} with the same ${what}${
    requestId === null ? "" : ` (request id ${requestId})`
  }`;
}

const units = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1_000]] as const;

/** Returns the time between two posts in words: `4 minutes later`; `within a second`. Times are ISO 8601. */
export function laterText(first: string, second: string): string {
  const ms = Date.parse(second) - Date.parse(first);
  const [unit, unitMs] = units.find(([, size]) => ms >= size) ?? [null, 1];
  if (unit === null) return "within a second";
  const count = Math.floor(ms / unitMs);
  return `${count} ${unit}${count === 1 ? "" : "s"} later`;
}

const pageRows = 2_000;

/**
 * Erases the `Idempotency-Key` and request id of logged posts in which one of them matches a pattern of
 * src/lead/person.ts, or, for `null`, may contain an address or a number. Returns the number of refused ones, which a
 * dry run only counts.
 */
export async function erasePosts(
  pool: Pool,
  { pattern, isDryRun, beforePage = () => Promise.resolve() }: {
    readonly pattern: string | null;
    readonly isDryRun: boolean;
    readonly beforePage?: () => Promise<void>;
  },
): Promise<number> {
  let count = 0;
  for (let after: string | null = "";;) {
    await beforePage();
    const page: { edge: string | null; found: number } | null = await queryOne(
      pool,
      (sql) =>
        sql<{ edge: string | null; found: number }[]>`
        select edge, found from erase_posts(${after}, ${pageRows}, ${pattern}, ${isDryRun})`,
    );
    count += page?.found ?? 0;
    after = page?.edge ?? null;
    if (after === null) return count;
  }
}
