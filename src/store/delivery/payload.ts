/** Builds the request with which an event is delivered to the actions process. */

import type { Claimed } from "./outbox.ts";

/**
 * Returns a request's JSON body. Inserts the stored text of `lead` and `extra`, because parsing would lose digits.
 *
 * Source: DECISIONS, Delivery.
 */
export function payload(
  row: Pick<
    Claimed,
    | "event_id"
    | "kind"
    | "tenant"
    | "source"
    | "campaign"
    | "received_at"
    | "number"
    | "lead"
    | "extra"
    | "flags"
  >,
): string {
  const content = row.kind === "lead" ? "lead" : "submission";
  return `{"event_id":${JSON.stringify(row.event_id)},"kind":${JSON.stringify(row.kind)},` +
    `"tenant":${JSON.stringify(row.tenant)},"source":${JSON.stringify(row.source)},` +
    `"campaign":${JSON.stringify(row.campaign)},"received_at":${
      JSON.stringify(row.received_at)
    },"attempt":${row.number},` +
    `"${content}":${row.lead ?? "null"},"extra":${row.extra ?? "{}"},` +
    `"flags":${JSON.stringify(row.flags === "" ? [] : row.flags.split(","))}}`;
}
