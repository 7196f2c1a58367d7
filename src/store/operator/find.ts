/** Finds leads, submissions, collisions and logged posts by an identifier. */

import type { Readings } from "../../lead/identifier.ts";
import { indexNewest } from "../jobs/search_indexer.ts";
import type { Pool } from "../pool.ts";
import { isoTime } from "./admin_pool.ts";
import { findCollisions, type ListedCollision } from "./collisions.ts";
import { readEffects, type ShownEffect } from "./event_effects.ts";
import { readEvents, type StoredEvent } from "./events.ts";
import {
  equalsAny,
  type Fragment,
  matchingEntries,
  runSearch,
  type Span,
  startsWithAny,
} from "./search_entry.ts";

/** The maximum number of results. Source: Chosen: what a person reads. */
export const foundMax = 50;

/** What all results have. Times are ISO 8601, UTC. */
interface Result {
  /** When it was posted; for several posts, the last one. */
  readonly at: string;
  readonly tenant: string;
  readonly source: string;
}

/** The same posts, by one key, that made no event. */
export interface FoundPosts extends Result {
  readonly kind: "posts";
  readonly keyId: string;
  readonly status: number;
  /** `null` for a duplicate. */
  readonly error: string | null;
  /** The failing fields and their reasons. */
  readonly fields: Readonly<Record<string, string>> | null;
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
  /** Whether the posts have other content than the event whose Idempotency-Key they have. */
  readonly isCollision: boolean;
  /** Whether the first event's duplicates are those with its Idempotency-Key, not those with its content. */
  readonly isByKey: boolean | null;
  /** The first event, of which the posts are duplicates, and when it was received. */
  readonly eventId: string | null;
  readonly eventReceivedAt: string | null;
  readonly count: number;
  readonly firstAt: string;
}

export type Found =
  | Result & { readonly kind: "event"; readonly event: StoredEvent; readonly effects: readonly ShownEffect[] }
  | Result & { readonly kind: "collision"; readonly collision: ListedCollision }
  | FoundPosts;

export interface Findings {
  /** At most {@linkcode foundMax}, newest first. */
  readonly found: readonly Found[];
  readonly isMore: boolean;
  /** Whether posts of the last seconds may be missing, because they could not be indexed. */
  readonly mayMissNewest: boolean;
}

/**
 * Finds all that has one of the readings, and the collisions and duplicates of the events found. `searchPool` has a short
 * statement timeout.
 *
 * @throws {SearchTimeout}
 */
export async function find(
  { pool, searchPool }: { readonly pool: Pool; readonly searchPool: Pool },
  readings: Readings,
): Promise<Findings> {
  const isIndexed = await indexNewest(searchPool);
  const refs = await findRefs(searchPool, readings);
  const eventIds = refs.filter((ref) => !ref.includes("-"));
  const collisionIds = refs.flatMap((ref) => ref.split("-")[1] ?? []);
  const [events, effects, collisions, posts] = await Promise.all([
    readEvents(pool, eventIds, { withRaw: false }),
    readEffects(pool, eventIds),
    findCollisions(pool, { ids: collisionIds, eventIds, limit: foundMax + 1 }),
    findPosts(searchPool, { ids: readings.ids, eventIds }),
  ]);
  const found = [
    ...events.flatMap((event, index): Found[] => {
      if (event === null) return [];
      const { receivedAt: at, tenant, source } = event;
      return [{ kind: "event", at, tenant, source, event, effects: effects[index] ?? [] }];
    }),
    ...collisions.map((collision): Found => {
      const { firstAt: at, tenant, source } = collision;
      return { kind: "collision", at, tenant, source, collision };
    }),
    // A collision counts its posts.
    ...grouped(
      posts.filter((post) =>
        !post.isCollision || collisions.every(({ eventId }) => eventId !== post.eventId)
      ),
    ),
  ].sort((a, b) => a.at < b.at ? 1 : a.at > b.at ? -1 : 0);
  return {
    found: found.slice(0, foundMax),
    isMore: found.length > foundMax || posts.length === postsMax,
    mayMissNewest: !isIndexed,
  };
}

/** Returns the newest refs with one of the readings, at most `foundMax` + 1. */
async function findRefs(pool: Pool, { eventId, phone, emails, names, ids }: Readings): Promise<string[]> {
  const span = await readSpan(pool);
  if (span === null) return [];
  const rows = await runSearch(pool, (sql) => {
    const entries = matchingEntries(sql, [
      ...equalsAny(sql, "phone", phone === null ? [] : [phone]),
      ...equalsAny(sql, "email", emails),
      ...startsWithAny(sql, "last_name", names),
      ...startsWithAny(sql, "full_name", names),
      ...equalsAny(sql, "external_id", ids),
      ...equalsAny(sql, "idempotency_key", ids),
      ...equalsAny(sql, "request_id", ids),
    ], span);
    const limit = foundMax + 1;
    // An event whose content was removed has no entry.
    const byId = eventId === null ? sql`` : sql`
      union
      (select e.event_id from event as e where e.event_id >= ${eventId} and e.event_id < ${`${eventId}g`}
       order by e.event_id desc limit ${limit})`;
    return sql<{ ref: string }[]>`
      select r.ref from ((select m.ref from ${entries} limit ${limit}) ${byId}) as r order by r.ref desc limit ${limit}`;
  });
  return rows.map(({ ref }) => ref);
}

/** Returns the span of all refs; `null` if there are none. */
async function readSpan(pool: Pool): Promise<Span | null> {
  const [row] = await runSearch(pool, (sql) =>
    sql<{ oldest: string | null; newest: string }[]>`
      select (select min(event_id) from event) as oldest,
        greatest((select max(event_id) from event), (select max(ref) from search_entry)) as newest`);
  return row === undefined || row.oldest === null ? null : { from: row.oldest, to: `${row.newest}g` };
}

interface PostRow extends Omit<FoundPosts, "kind" | "count" | "firstAt" | "fields"> {
  readonly fields: string | null;
}

// Bounds what is read and counted; results group the same posts.
const postsMax = 500;

async function findPosts(
  pool: Pool,
  { ids, eventIds }: { readonly ids: readonly string[]; readonly eventIds: readonly string[] },
): Promise<PostRow[]> {
  return await runSearch(pool, (sql) => {
    // Each is read newest first, from its own index.
    const newest = (condition: Fragment) =>
      sql`(select p.id from post_log as p where ${condition} order by p.id desc limit ${postsMax})`;
    const parts = [
      ...ids.flatMap((id) => [newest(sql`p.request_id = ${id}`), newest(sql`p.idempotency_key = ${id}`)]),
      sql`(select d.id from unnest(${[...eventIds]}::text[]) as i (event_id) cross join lateral ${
        newest(sql`p.event_id = i.event_id collate "C"`)
      } as d)`,
    ];
    const union = parts.reduce((whole, part) => sql`${whole} union ${part}`);
    return sql<PostRow[]>`
      select p.key_id::text as "keyId", t.slug as tenant, k.label as source, p.status, p.error, p.fields::text as fields,
        p.request_id as "requestId", p.idempotency_key as "idempotencyKey", p.event_id as "eventId",
        p.is_collision as "isCollision", e.dedupe_space in ('k', 'K') as "isByKey", ${
      isoTime(sql, sql`e.received_at`)
    } as "eventReceivedAt", ${isoTime(sql, sql`p.at`)} as at
      from (select p.id from (${union}) as p order by p.id desc limit ${postsMax}) as i
      join post_log as p on p.id = i.id
      join api_key as k on k.id = p.key_id
      join tenant as t on t.id = k.tenant_id
      left join event as e on e.event_id = p.event_id
      order by p.id desc`;
  });
}

/** Groups posts, newest first, that one key got the same answer to. */
function grouped(posts: readonly PostRow[]): FoundPosts[] {
  const groups = Map.groupBy(
    posts,
    ({ keyId, status, error, fields, eventId, isCollision }) =>
      JSON.stringify([keyId, status, error, fields, eventId, isCollision]),
  );
  return [...groups.values()].map((group) => {
    const newest = group[0] as PostRow;
    return {
      ...newest,
      kind: "posts",
      fields: newest.fields === null ? null : JSON.parse(newest.fields),
      count: group.length,
      firstAt: group.at(-1)?.at ?? newest.at,
    };
  });
}
