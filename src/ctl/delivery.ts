/**
 * The story of an event's delivery, as `ctl lead show` and `ctl dead show` tell it.
 *
 * @module
 */

import type { Attempt } from "#src/store/operator/deliveries.ts";
import type { StoredEvent } from "#src/store/operator/events.ts";
import { record } from "./terminal.ts";

/** The story in order: accepted, each attempt, and what is next. */
export function deliveryText(event: StoredEvent): string {
  const { delivery } = event;
  return record([
    [spaced(event.receivedAt), "accepted"],
    ...delivery.attempts.map((attempt) => [spaced(attempt.at), attemptText(attempt)] as const),
    ...next(event),
  ], "  ");
}

/** A time to the millisecond, as the story has it. */
export function spaced(iso: string): string {
  return iso.slice(0, 23).replace("T", " ");
}

function attemptText(attempt: Attempt): string {
  const { outcome, status, reason, durationMs } = attempt;
  const said = [status === null ? "" : `status ${status}`, reason ?? ""].filter((part) => part !== "");
  const what = outcome === "lost" ? "lost, the process that made it ended" : outcome;
  return [
    `attempt ${attempt.number}: ${what}`,
    ...said,
    ...(durationMs === null ? [] : [`${durationMs} ms`]),
    ...(attempt.spent ? [] : ["does not count"]),
  ].join(", ");
}

function next({ eventId, tenant, delivery }: StoredEvent): [string, string][] {
  const number = (delivery.attempts.at(-1)?.number ?? 0) + 1;
  switch (delivery.state) {
    case "pending": {
      if (delivery.reason === "no_route") {
        return [[
          "waiting",
          `tenant ${tenant} has no route for it (no_route); it goes at once when one is added`,
        ]];
      }
      const why = delivery.reason === null ? "" : ` (${delivery.reason})`;
      return [[spaced(delivery.dueAt), `attempt ${number} is due${why}`]];
    }
    case "sending":
      return [["now", `attempt ${number} is under way, until ${spaced(delivery.leaseUntil)} at most`]];
    case "held":
      return [["held", `not delivered; ctl form release ${eventId} sends it`]];
    case "erased":
      return [["", "not delivered: its content went before"]];
    case "delivered":
      return delivery.attempts.at(-1)?.outcome === "delivered" ? [] : [["", "delivered"]];
    case "dead": {
      const why = delivery.reason === null ? "" : ` (${delivery.reason})`;
      return [[spaced(delivery.diedAt), `dead${why}; ctl dead replay ${eventId} sends it again`]];
    }
  }
}
