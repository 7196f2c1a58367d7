/**
 * What the dashboard shows, row by row. Names, units and kinds come from the table of metrics, thresholds from the
 * alerts: a test holds each to the alert that it names.
 *
 * @module
 */

import type { MetricName } from "../../src/observe/metrics.ts";
import type { AlertName } from "./alerts.ts";

/** One question about a metric. */
export interface Query {
  readonly metric: MetricName;
  /**
   * `rate`: of a counter, or of a histogram's observations, a second. `quantiles`: of a histogram. `mean`: of a histogram.
   * `each`: a gauge by process. `all`: a gauge that every process reads of the same thing, once. `until`: the seconds to a
   * timestamp. `since`: the seconds from it.
   */
  readonly as: "rate" | "quantiles" | "mean" | "each" | "all" | "until" | "since";
  /** The labels that make a line each. */
  readonly by?: readonly string[];
  /** Matchers, as PromQL has them. */
  readonly where?: string;
  /** What the line is called, when there are several questions. */
  readonly legend?: string;
}

/** A picture. */
export interface Panel {
  readonly title: string;
  readonly queries: readonly [Query, ...Query[]];
  /** From here on it is red; the number stands in the alert's expression. */
  readonly threshold?: { readonly at: number; readonly of: AlertName; readonly isBelow?: true };
  /** Big figures instead of lines. */
  readonly isFigure?: true;
}

const post = 'route="/v1/intake",method="POST"';

/** The rows, in the order of what matters first. */
export const rows: Readonly<Record<string, readonly Panel[]>> = {
  "Now": [
    {
      title: "Takes leads",
      isFigure: true,
      queries: [{ metric: "lead_store_writable", as: "each" }],
      threshold: { at: 0, of: "StoreNotWritable", isBelow: true },
    },
    {
      title: "Waiting",
      isFigure: true,
      queries: [{ metric: "lead_outbox_pending", as: "all" }],
    },
    {
      title: "Overdue",
      isFigure: true,
      queries: [{ metric: "lead_outbox_overdue_seconds", as: "all" }],
      threshold: { at: 300, of: "DeliveryStuck" },
    },
    {
      title: "Dead letters",
      isFigure: true,
      queries: [{ metric: "lead_outbox_dead", as: "all" }],
      threshold: { at: 0, of: "DeadLetters" },
    },
    {
      title: "Collisions to judge",
      isFigure: true,
      queries: [{ metric: "lead_collisions_open", as: "all" }],
      threshold: { at: 0, of: "CollisionsOpen" },
    },
    {
      title: "Silent sources",
      isFigure: true,
      queries: [{ metric: "lead_sources_silent", as: "all" }],
      threshold: { at: 0, of: "SourceSilent" },
    },
  ],
  "Intake": [
    { title: "Accepted", queries: [{ metric: "lead_accepted_total", as: "rate", by: ["kind"] }] },
    {
      title: "Posts by answer",
      queries: [{
        metric: "http_requests_total",
        as: "rate",
        by: ["status"],
        where: 'route=~"/v1/intake|/v1/forms/.*",method="POST"',
      }],
    },
    {
      title: "Refused, by reason",
      queries: [{ metric: "lead_refused_total", as: "rate", by: ["kind", "reason"] }],
    },
    {
      title: "Time to the answer of a lead",
      queries: [{ metric: "http_request_duration_seconds", as: "quantiles", where: post }],
      threshold: { at: 2.5, of: "PostsSlow" },
    },
    { title: "Repeats", queries: [{ metric: "lead_duplicates_total", as: "rate", by: ["kind"] }] },
    {
      title: "Why fields were refused",
      queries: [{ metric: "lead_refused_fields_total", as: "rate", by: ["reason"] }],
    },
  ],
  "Limits": [
    {
      title: "Over the limit (429)",
      queries: [{
        metric: "lead_refused_total",
        as: "rate",
        by: ["kind"],
        where: 'reason=~"rate_limited|429"',
      }],
    },
    {
      title: "Wrong keys (401)",
      queries: [{
        metric: "lead_refused_total",
        as: "rate",
        by: ["kind"],
        where: 'reason=~"unauthorized|401"',
      }],
    },
    {
      title: "Not accepting (503)",
      queries: [{
        metric: "lead_refused_total",
        as: "rate",
        by: ["kind"],
        where: 'reason=~"not_accepting|503"',
      }],
    },
    {
      title: "Processes that share the limits",
      queries: [{ metric: "lead_limit_nodes", as: "each" }],
    },
    {
      title: "Limits that are shared",
      queries: [{ metric: "lead_limit_leases", as: "each", by: ["state"] }],
    },
    {
      title: "Statements for shares of limits",
      queries: [
        { metric: "lead_limit_exchanges_total", as: "rate", legend: "answered" },
        { metric: "lead_limit_exchange_failures_total", as: "rate", legend: "not answered" },
      ],
    },
  ],
  "Delivery": [
    {
      title: "Waiting and dead",
      queries: [
        { metric: "lead_outbox_pending", as: "all", legend: "waiting" },
        { metric: "lead_outbox_dead", as: "all", legend: "dead" },
      ],
    },
    {
      title: "Age of the oldest that waits",
      queries: [{ metric: "lead_outbox_oldest_pending_age_seconds", as: "all", legend: "oldest" }],
      threshold: { at: 3_600, of: "OldestLeadWaits" },
    },
    {
      title: "Attempts by outcome",
      queries: [{ metric: "lead_delivery_attempts_total", as: "rate", by: ["outcome"] }],
    },
    {
      title: "Time from post to delivery",
      queries: [{ metric: "lead_time_to_delivery_seconds", as: "quantiles" }],
    },
    {
      title: "Time of an attempt",
      queries: [{ metric: "lead_delivery_attempt_duration_seconds", as: "quantiles" }],
    },
    { title: "Given up", queries: [{ metric: "lead_deaths_total", as: "rate", legend: "dead letters" }] },
    { title: "In flight", queries: [{ metric: "lead_delivery_in_flight", as: "each" }] },
    {
      title: "Breaker",
      queries: [{
        metric: "lead_delivery_breaker_state",
        as: "each",
        by: ["state"],
        where: 'state!="closed"',
      }],
      threshold: { at: 0.25, of: "BreakerOpen" },
    },
    {
      title: "Actions tier away for",
      queries: [{ metric: "lead_tier_away_seconds", as: "each" }],
      threshold: { at: 120, of: "ActionsTierAway" },
    },
    {
      title: "Why the tier gave no answer",
      queries: [{ metric: "lead_tier_failures_total", as: "rate", by: ["cause"] }],
    },
  ],
  "Actions process": [
    {
      title: "Calls and mails by outcome",
      queries: [{ metric: "lead_effects_total", as: "rate", by: ["kind", "outcome"] }],
    },
    {
      title: "Time of a call or mail",
      queries: [{ metric: "lead_effect_duration_seconds", as: "quantiles" }],
    },
    { title: "Daily digests", queries: [{ metric: "lead_digests_total", as: "rate", by: ["outcome"] }] },
  ],
  "Store": [
    { title: "Time of a commit", queries: [{ metric: "lead_commit_duration_seconds", as: "quantiles" }] },
    {
      title: "Posts in a commit",
      queries: [{ metric: "lead_commit_batch_entries", as: "mean", legend: "mean" }],
    },
    {
      title: "Commits",
      queries: [{ metric: "lead_commit_duration_seconds", as: "rate", legend: "commits" }],
    },
    {
      title: "Failures and warnings",
      queries: [
        { metric: "lead_commit_failures_total", as: "rate", legend: "failed" },
        { metric: "lead_commit_warnings_total", as: "rate", legend: "warned" },
      ],
    },
    { title: "Posts that wait for a commit", queries: [{ metric: "lead_commit_waiting", as: "each" }] },
    {
      title: "Connections",
      queries: [
        { metric: "lead_database_connections", as: "all", legend: "taken" },
        { metric: "lead_database_connections_max", as: "all", legend: "there are" },
      ],
    },
    {
      title: "Size",
      queries: [{ metric: "lead_database_size_bytes", as: "all", legend: "database" }],
    },
    {
      title: "Disk",
      queries: [
        { metric: "lead_database_disk_available_bytes", as: "all", legend: "free" },
        { metric: "lead_database_disk_size_bytes", as: "all", legend: "whole" },
      ],
    },
    {
      title: "Standbys",
      queries: [{ metric: "lead_database_standbys", as: "all", legend: "connected" }],
    },
    {
      title: "WAL that a standby has not replayed",
      queries: [{ metric: "lead_database_replay_lag_bytes", as: "all", legend: "farthest behind" }],
      threshold: { at: 256 * 2 ** 20, of: "StandbyBehind" },
    },
    {
      title: "Since WAL was archived",
      queries: [{ metric: "lead_database_archived_timestamp_seconds", as: "since", legend: "archived" }],
      threshold: { at: 26 * 3_600, of: "ArchiveStale" },
    },
    {
      title: "The database's clock is ahead by",
      queries: [{ metric: "lead_database_clock_offset_seconds", as: "each" }],
      threshold: { at: 2, of: "ClockSkew" },
    },
  ],
  "Forms": [
    {
      title: "Submissions by verdict",
      queries: [{ metric: "lead_submissions_total", as: "rate", by: ["verdict"] }],
    },
    {
      title: "Held, to be judged",
      queries: [{ metric: "lead_submissions_held", as: "all", legend: "held" }],
      threshold: { at: 200, of: "HeldBacklog" },
    },
    {
      title: "Tenants without a route",
      queries: [{ metric: "lead_outbox_unrouted_tenants", as: "all", legend: "tenants" }],
    },
  ],
  "Processes": [
    {
      title: "Processor",
      queries: [{ metric: "process_cpu_seconds_total", as: "rate", by: ["job", "instance"] }],
    },
    {
      title: "Memory",
      queries: [
        { metric: "process_resident_memory_bytes", as: "each", legend: "resident" },
        { metric: "process_heap_bytes", as: "each", legend: "heap" },
      ],
    },
    {
      title: "How late the event loop is",
      queries: [{ metric: "process_event_loop_lag_seconds", as: "quantiles" }],
      threshold: { at: 0.5, of: "EventLoopLate" },
    },
    {
      title: "Garbage collection",
      queries: [{ metric: "process_gc_seconds_total", as: "rate", by: ["job", "instance"] }],
    },
    { title: "Files and connections", queries: [{ metric: "process_open_fds", as: "each" }] },
    {
      title: "Running for",
      queries: [{ metric: "process_start_time_seconds", as: "since", by: ["job", "instance"] }],
    },
    {
      title: "Certificates end in",
      queries: [{
        metric: "lead_certificate_expiry_timestamp_seconds",
        as: "until",
        by: ["files", "instance"],
      }],
      threshold: { at: 21 * 86_400, of: "CertificateEndsSoon", isBelow: true },
    },
    { title: "Versions", queries: [{ metric: "lead_build_info", as: "each", by: ["version", "runtime"] }] },
    {
      title: "Faults and failed tasks",
      queries: [
        { metric: "lead_faults_total", as: "rate", legend: "faults" },
        { metric: "lead_job_failures_total", as: "rate", by: ["task"] },
      ],
    },
  ],
};
