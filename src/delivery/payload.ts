/**
 * The request to the actions tier: `PUT /v1/events/{event_id}`.
 *
 * @module
 */

import type { Claimed } from "../store/delivery/outbox.ts";

/**
 * The JSON body. Lead and extra go in as the text they are stored as, because parsing them would lose digits.
 *
 * Source: DECISIONS, Delivery.
 */
export function payload(row: Claimed): string {
  const content = row.kind === "lead" ? "lead" : "submission";
  return `{"event_id":${JSON.stringify(row.event_id)},"kind":${JSON.stringify(row.kind)},` +
    `"tenant":${JSON.stringify(row.tenant)},"source":${JSON.stringify(row.source)},` +
    `"received_at":${JSON.stringify(row.received_at)},"attempt":${row.number},` +
    `"${content}":${row.lead ?? "null"},"extra":${row.extra ?? "{}"},` +
    `"flags":${JSON.stringify(row.flags === "" ? [] : row.flags.split(","))}}`;
}
