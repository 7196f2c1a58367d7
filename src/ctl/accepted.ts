/**
 * The other event, where a collision was accepted as an event of its own.
 *
 * @module
 */

import type { StoredEvent } from "#src/store/operator/events.ts";

/** What it is, as names and values for a person to read; nothing of an event that was accepted as it came. */
export function acceptedPairs({ acceptedFrom, acceptedBeside }: StoredEvent): [string, string][] {
  return [
    ...(acceptedFrom === null ? [] : [
      ["Accepted from", `collision ${acceptedFrom.collision} of ${acceptedFrom.eventId}`] as [
        string,
        string,
      ],
    ]),
    ...acceptedBeside.map(({ collision, eventId }): [string, string] => [
      "Accepted beside",
      `${eventId} (collision ${collision})`,
    ]),
  ];
}
