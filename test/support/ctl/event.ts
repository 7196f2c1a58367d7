/** Stores events for the tests of `ctl`, as the service does. */

import type postgres from "postgres";
import { type AcceptedRow, acceptPosts } from "../accept.ts";

/** One post; omitted members have an ordinary value. */
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
}

/** The lead of a post without one. */
export const ordinaryLead = {
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+15551234567",
  country: "US",
  cost_cents: 1234,
};

/** Commits one event with the SQL function `accept`. */
export async function accept(
  sql: postgres.ISql,
  keyId: string,
  { kind, ...post }: Post = {},
): Promise<AcceptedRow> {
  const space = kind === "form" ? "K" : "k";
  const lead = post.lead ?? JSON.stringify(ordinaryLead);
  const [row] = await acceptPosts(sql, [{ ...post, keyId: Number(keyId), space, lead }]);
  if (row === undefined) throw new Error("accept returned nothing");
  return row;
}
