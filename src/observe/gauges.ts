/**
 * How things stand in the service process: the gauges of `/metrics`, and what the minute samples have of them.
 *
 * @module
 */

import type { Delivery } from "../delivery/delivery.ts";
import type { Meters } from "./meters.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { Sample } from "../store/jobs/samples.ts";
import type { Upkeep } from "../store/jobs/upkeep.ts";

/** What knows how things stand. */
export interface GaugeParts {
  readonly committer: Committer;
  readonly heartbeat: Heartbeat;
  readonly upkeep: Upkeep;
  readonly delivery: Delivery | null;
}

const breakerStates = ["closed", "half_open", "open"] as const;

/** Adds the gauges. */
export function addGauges({ registry }: Meters, parts: GaugeParts): void {
  const { committer, heartbeat, upkeep, delivery } = parts;
  const gauge = registry.gauge.bind(registry);
  gauge(
    {
      name: "lead_store_writable",
      help:
        "1 while the store takes writes, by the commits of posts and, between them, by this process's beats.",
    },
    () => heartbeat.writable ? 1 : 0,
  );
  gauge(
    { name: "lead_outbox_pending", help: "Events that are not delivered yet, of all processes." },
    () => heartbeat.pending,
  );
  gauge({ name: "lead_outbox_dead", help: "Dead letters, of all processes." }, () => heartbeat.dead);
  gauge(
    {
      name: "lead_outbox_oldest_pending_age_seconds",
      help: "Since the acceptance of what waits longest; 0: nothing.",
    },
    () => oldestPendingS(parts),
  );
  gauge(
    {
      name: "lead_collisions_open",
      help:
        "Leads of another person under a used Idempotency-Key that no operator has accepted or dismissed, of all processes; 10,000 at most.",
    },
    () => upkeep.openCollisions,
  );
  gauge(
    { name: "lead_commit_waiting", help: "Posts that wait for the next commit." },
    () => committer.waiting,
  );
  addDeliveryGauges(registry, delivery);
}

function addDeliveryGauges(registry: Meters["registry"], delivery: Delivery | null): void {
  const gauge = registry.gauge.bind(registry);
  gauge(
    { name: "lead_delivery_in_flight", help: "Deliveries that are being made by this process." },
    () => delivery?.inFlight ?? 0,
  );
  gauge(
    {
      name: "lead_delivery_breaker_state",
      help: "1 for the state of this process's breaker; none of them without an actions tier.",
      labels: ["state"],
    },
    () => {
      const now = delivery?.tier().state;
      return new Map(breakerStates.map((state) => [state, state === now ? 1 : 0]));
    },
  );
  gauge(
    {
      name: "lead_tier_last_answer_age_seconds",
      help:
        "Since the actions tier last answered a delivery of this process; +Inf: never. None where nothing is delivered.",
    },
    () => delivery === null ? null : (delivery.tier().answeredAgoMs ?? Infinity) / 1_000,
  );
  gauge(
    {
      name: "lead_tier_away_seconds",
      help: "For how long the actions tier is away for this process; 0: it is not.",
    },
    () => delivery === null ? null : (delivery.tier().awayMs ?? 0) / 1_000,
  );
}

/** How things stand, with the counts since the start of the process. */
export function sampleOf(meters: Meters, parts: GaugeParts): Sample {
  const { heartbeat, delivery } = parts;
  return {
    ...meters.totals(),
    pending: heartbeat.pending,
    dead: heartbeat.dead,
    oldestPendingS: oldestPendingS(parts),
    breaker: delivery?.tier().state ?? "none",
  };
}

function oldestPendingS({ upkeep }: GaugeParts): number {
  const { oldestPendingAt } = upkeep;
  return oldestPendingAt === null ? 0 : Math.max(0, Date.now() - Date.parse(oldestPendingAt)) / 1_000;
}
