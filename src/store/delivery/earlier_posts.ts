/** Finds what a customer has already received from a phone number, for the actions process. */

import type { Pool } from "../pool.ts";

/** A tenant's posts with an event's phone number, received in the 30 days before it. */
export interface EarlierPosts {
  /** At most three, the latest first. */
  readonly posts: readonly {
    /** A key's label. */
    readonly source: string;
    /** A submission's form key; empty for a lead. */
    readonly form: string;
    /** ISO 8601, UTC. */
    readonly receivedAt: string;
  }[];
  /** The number of further posts, such as `2` or `at least 97`; empty without any. */
  readonly more: string;
}

export const noEarlierPosts: EarlierPosts = { posts: [], more: "" };

/** The server's timeout for the lookup, a hundred times as long as one takes. Chosen: an email without the note is better than none. */
export const earlierPostsTimeoutMs = 1_000;
/** The time limit with the opening of a connection, within the margin of an effect's lease. */
const deadlineMs = 4_000;

/** Finds the posts. Posts of the last seconds may be missing, because the search does not have them yet. */
export async function findEarlierPosts(pool: Pool, eventId: string): Promise<EarlierPosts> {
  const rows = await pool.run(
    deadlineMs,
    (sql) =>
      sql<(EarlierPosts["posts"][number] & { more: string })[]>`
        select source, form, received_at as "receivedAt", more from actions.earlier_posts(${eventId})`,
  );
  return { posts: rows.map(({ more: _, ...post }) => post), more: rows[0]?.more ?? "" };
}
