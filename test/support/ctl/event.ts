/**
 * Stores events for the tests of the operator's command, as the service does.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import type postgres from "postgres";

/** One post; what is left out is ordinary. */
export interface Post {
  readonly kind?: "lead" | "form";
  readonly idempotencyKey?: string;
  /** Two posts with the same digest are duplicates. */
  readonly digest?: string;
  readonly flags?: string;
  /** JSON text. */
  readonly lead?: string;
  readonly extra?: string | null;
  readonly raw?: string;
  readonly costCents?: number;
  readonly unknownArea?: string;
}

/** What became of a post. */
export interface Accepted {
  readonly outcome: "accepted" | "duplicate" | "revoked";
  readonly event_id: string;
  readonly received_at: string;
}

/** The lead of a post that names none. */
export const ordinaryLead = {
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+15551234567",
  country: "US",
  cost_cents: 1234,
};

/** Commits one event by the SQL function `accept`. */
export async function accept(sql: postgres.ISql, keyId: string, post: Post = {}): Promise<Accepted> {
  const digest = post.digest ?? randomUUID();
  const space = post.kind === "form" ? "K" : "k";
  const [row] = await sql<Accepted[]>`
    select outcome, event_id, received_at from accept(
      ${[post.kind ?? "lead"]}, ${[Number(keyId)]}, ${[space]}, ${[digest]}, ${[randomUUID()]},
      ${[post.idempotencyKey ?? null]}, ${[post.flags ?? ""]}, ${[post.lead ?? JSON.stringify(ordinaryLead)]},
      ${[post.extra ?? null]}, ${[post.raw ?? "{}"]}, ${[post.costCents ?? null]},
      ${[post.unknownArea ?? null]}, 24)`;
  if (row === undefined) throw new Error("accept returned nothing");
  return row;
}
