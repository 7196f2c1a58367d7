/** The service's gauges, for `/metrics` and the minute samples. */

import { statSync } from "node:fs";
import { join } from "node:path";
import type { Delivery } from "../delivery/delivery.ts";
import type { Meters } from "./meters.ts";
import { definition, type MetricName } from "./metrics.ts";
import type { Committer } from "../store/serving/committer.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { Sample } from "../store/jobs/samples.ts";
import type { StatusReader, StoreStatus } from "../store/jobs/status.ts";
import type { Maintenance } from "../store/jobs/maintenance.ts";
import { pauseScopes } from "../store/operator/pauses.ts";
import { suspensionReasons } from "../store/operator/route_states.ts";

/** The objects that the gauges read. */
export interface GaugeParts {
  readonly committer: Committer;
  readonly heartbeat: Heartbeat;
  readonly maintenance: Maintenance;
  readonly status: StatusReader;
  readonly delivery: Delivery | null;
  /** The folder that contains the backup units' timestamp files. */
  readonly backupMarksDir: string | null;
}

const breakerStates = ["closed", "half_open", "open"] as const;

export function addGauges({ registry }: Meters, parts: GaugeParts): void {
  const { committer, heartbeat, maintenance, status, delivery } = parts;
  const gauge = registry.gauge.bind(registry);
  gauge(definition("lead_store_writable"), () => heartbeat.writable ? 1 : 0);
  gauge(definition("lead_outbox_pending"), () => heartbeat.pending);
  gauge(definition("lead_outbox_dead"), () => heartbeat.dead);
  gauge(definition("lead_outbox_oldest_pending_age_seconds"), () => maintenance.oldestPendingS);
  gauge(definition("lead_collisions_open"), () => maintenance.openCollisions);
  gauge(definition("lead_commit_waiting"), () => committer.waiting);
  addDeliveryGauges(registry, delivery);
  for (const [name, read] of Object.entries(statusGauges)) {
    gauge(definition(name as MetricName), () => status.current === null ? null : read(status.current));
  }
  gauge(definition("lead_backup_timestamp_seconds"), () => backupTimestamps(parts.backupMarksDir));
}

/** The backup units' timestamp files, by the gauge's label value. */
const backupStampFiles = { backup: "stamp", check: "verified" } as const;

/** Returns the files' timestamps by label value, in seconds since 1970. */
function backupTimestamps(folder: string | null): ReadonlyMap<string, number> {
  const timestamps = new Map<string, number>();
  for (const [label, file] of folder === null ? [] : Object.entries(backupStampFiles)) {
    try {
      timestamps.set(label, statSync(join(folder ?? "", file)).mtimeMs / 1_000);
    } catch {
      // The file does not exist yet or is not readable.
    }
  }
  return timestamps;
}

/** The gauges of the database's status, by name; unknown values are omitted. */
const statusGauges: Partial<
  Record<MetricName, (status: StoreStatus) => number | ReadonlyMap<string, number> | null>
> = {
  lead_outbox_overdue_seconds: ({ overdueS }) => overdueS,
  lead_outbox_unrouted_tenants: ({ unroutedTenants }) => unroutedTenants,
  lead_crm_routes_suspended: (status) => sumSuspended(status, () => 1),
  lead_crm_events_waiting: (status) => sumSuspended(status, ({ waiting }) => waiting),
  lead_delivery_paused: (status) => sumPaused(status, () => 1),
  lead_delivery_paused_events: (status) => sumPaused(status, ({ waiting }) => waiting),
  lead_submissions_held: ({ held }) => held,
  lead_campaign_spend_cents: ({ spendCents }) => spendCents,
  lead_campaign_credit_cents: ({ creditCents }) => creditCents,
  lead_sources_silent: ({ silentSources }) => silentSources,
  lead_database_connections: ({ connections }) => connections,
  lead_database_connections_max: ({ connectionsMax }) => connectionsMax,
  lead_database_clock_offset_seconds: ({ clockOffsetS }) => clockOffsetS,
  lead_database_size_bytes: ({ sizeBytes }) => sizeBytes,
  lead_database_disk_size_bytes: ({ disk }) => disk?.sizeBytes ?? null,
  lead_database_disk_available_bytes: ({ disk }) => disk?.availableBytes ?? null,
  lead_database_standbys: ({ standbys }) => standbys,
  lead_database_replay_lag_bytes: ({ replayLagBytes }) => replayLagBytes,
  lead_database_timeline: ({ timeline }) => timeline,
  lead_database_archived_timestamp_seconds: ({ archivedAtS }) => archivedAtS,
  lead_database_archive_failed_timestamp_seconds: ({ archiveFailedAtS }) => archiveFailedAtS,
};

/** Sums a figure of the suspended routes, by reason. */
function sumSuspended(
  { suspendedRoutes }: StoreStatus,
  figure: (route: StoreStatus["suspendedRoutes"][number]) => number,
): ReadonlyMap<string, number> {
  return sumBy(suspensionReasons, suspendedRoutes, ({ reason }) => reason, figure);
}

/** Sums a figure of the pauses, by what is paused. */
function sumPaused(
  { pauses }: StoreStatus,
  figure: (pause: StoreStatus["pauses"][number]) => number,
): ReadonlyMap<string, number> {
  return sumBy(pauseScopes, pauses, ({ scope }) => scope, figure);
}

/** Sums a figure of the items with each label. */
function sumBy<Item>(
  labels: readonly string[],
  items: readonly Item[],
  labelOf: (item: Item) => string,
  figure: (item: Item) => number,
): ReadonlyMap<string, number> {
  return new Map(labels.map((label) => [
    label,
    items.filter((item) => labelOf(item) === label).reduce((sum, item) => sum + figure(item), 0),
  ]));
}

function addDeliveryGauges(registry: Meters["registry"], delivery: Delivery | null): void {
  const gauge = registry.gauge.bind(registry);
  gauge(definition("lead_delivery_in_flight"), () => delivery?.inFlight ?? 0);
  gauge(
    definition("lead_delivery_breaker_state"),
    () => {
      const current = delivery?.tier().state;
      return new Map(breakerStates.map((state) => [state, state === current ? 1 : 0]));
    },
  );
  gauge(
    definition("lead_tier_last_answer_age_seconds"),
    () => delivery === null ? null : (delivery.tier().respondedAgoMs ?? Infinity) / 1_000,
  );
  gauge(
    definition("lead_tier_away_seconds"),
    () => delivery === null ? null : (delivery.tier().unavailableMs ?? 0) / 1_000,
  );
}

/** Returns the current values and the counts since the process started. */
export function readSample(meters: Meters, parts: GaugeParts): Sample {
  const { heartbeat, maintenance, delivery } = parts;
  return {
    ...meters.totals(),
    pending: heartbeat.pending,
    dead: heartbeat.dead,
    oldestPendingS: maintenance.oldestPendingS,
    breaker: delivery?.tier().state ?? "none",
  };
}
