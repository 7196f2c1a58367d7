/** Defines all metrics. A test checks the alerts and the dashboard against this table. */

/** A metric's definition. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  /** The text of `# HELP`. */
  readonly help: string;
  /** The label names, in output order. Their values come from fixed lists. */
  readonly labels: readonly string[];
}

const ofKind = (kind: Metric["kind"]) => (help: string, labels: readonly string[] = []): Metric => ({
  kind,
  help,
  labels,
});
const counter = ofKind("counter");
const gauge = ofKind("gauge");
const histogram = ofKind("histogram");

/** The metrics that both processes have. */
export const processMetrics = {
  http_requests_total: counter(
    "Responses, by surface, route pattern (- if unknown), method and status.",
    ["surface", "route", "method", "status"],
  ),
  http_request_duration_seconds: histogram(
    "Time from the end of a request's headers to the end of its response.",
    ["surface", "route", "method"],
  ),
  http_response_body_bytes_total: counter("Bytes written in response bodies.", ["surface"]),
  http_requests_aborted_total: counter(
    "Requests whose connection closed before the whole response was written.",
    ["surface"],
  ),
  lead_faults_total: counter("Unexpected exceptions; the log contains the stack of each."),
  lead_certificate_expiry_timestamp_seconds: gauge(
    "When the first of the certificates in use expires, in seconds since 1970, by purpose.",
    ["files"],
  ),
  lead_certificate_refused: gauge(
    "1 while the files on disk are unusable and the previous ones remain in use.",
    ["files"],
  ),
  lead_build_info: gauge("Always 1; the labels name the version and runtime.", [
    "version",
    "runtime",
    "runtime_version",
  ]),
  lead_last_failure: gauge(
    "1 if the previous process failed, by systemd's result, such as watchdog; absent if it exited cleanly.",
    ["result"],
  ),
  process_cpu_seconds_total: counter("Processor time of the process, user and system, in seconds."),
  process_resident_memory_bytes: gauge("Resident memory in bytes."),
  process_memory_limit_bytes: gauge("Memory limit of the process; absent if there is none."),
  process_heap_bytes: gauge("JavaScript heap in use, in bytes."),
  process_heap_limit_bytes: gauge("Heap limit of the runtime, in bytes."),
  process_gc_seconds_total: counter("Time spent in garbage collection, in seconds; absent on Deno."),
  process_start_time_seconds: gauge("When the process started, in seconds since 1970."),
  process_open_fds: gauge("Open file descriptors; absent if unreadable."),
  process_max_fds: gauge("Limit on open file descriptors; absent if unreadable."),
  process_event_loop_lag_seconds: histogram("Delay of a 100 ms timer."),
} as const;

/** The metrics that only the service has. */
export const serviceMetrics = {
  lead_accepted_total: counter("Events committed, by kind: leads and form submissions.", ["kind"]),
  lead_duplicates_total: counter("Posts that repeat an earlier one, by kind.", ["kind"]),
  lead_refused_total: counter(
    "Refused posts, by kind and reason: the error code for leads, the status for forms.",
    ["kind", "reason"],
  ),
  lead_refused_fields_total: counter(
    "Reasons for refusing posts with a valid key; a post can have more than one.",
    ["reason"],
  ),
  lead_posts_not_logged_total: counter(
    "Duplicates and refused posts that are missing in the post log, because their key or the process had too many.",
  ),
  lead_submissions_total: counter(
    "Form submissions committed, by verdict; all except clean ones are held.",
    ["verdict"],
  ),
  lead_submissions_held: gauge(
    "Held submissions to review, honeypot hits apart, across all processes; at most 10,000.",
  ),
  lead_campaign_spend_cents: gauge(
    "Cost of all leads posted with a campaign's key, across all processes, in US cents.",
  ),
  lead_campaign_credit_cents: gauge(
    "The part of lead_campaign_spend_cents that was credited for returned leads.",
  ),
  lead_commit_duration_seconds: histogram("Duration of a batch's commit, from the statement to its outcome."),
  lead_commit_batch_entries: histogram("Posts in one commit."),
  lead_commit_failures_total: counter("Commits that failed or whose outcome is unknown."),
  lead_commit_warnings_total: counter(
    "Database warnings during commits, such as a canceled wait for a synchronous standby.",
  ),
  lead_commit_waiting: gauge("Posts waiting for the next commit."),
  lead_store_writable: gauge(
    "1 while the store accepts writes, according to commits and, between them, this process's heartbeats.",
  ),
  lead_job_failures_total: counter("Failed runs of background jobs, by log event.", ["task"]),
  lead_job_last_success_timestamp_seconds: gauge(
    "When each background job last succeeded in this process, in seconds since 1970; absent until then.",
    ["task"],
  ),
  lead_outbox_pending: gauge("Pending events, across all processes."),
  lead_outbox_dead: gauge("Dead letters, across all processes."),
  lead_outbox_oldest_pending_age_seconds: gauge(
    "Age of the oldest pending event, other than those of paused tenants and destinations and of tenants without a route; 0 if there is none. If the clock was set back since an event was accepted, how far its time is ahead.",
  ),
  lead_outbox_overdue_seconds: gauge(
    "Time since the oldest due delivery became due, across all processes; a delivery that waits for a retry, a route or the end of a pause is not due.",
  ),
  lead_outbox_unrouted_tenants: gauge("Live tenants with pending events and no route, except paused ones."),
  lead_delivery_paused: gauge(
    "Tenants whose deliveries an operator has paused: all of them, or those to one kind of destination.",
    ["destination"],
  ),
  lead_delivery_paused_events: gauge(
    "Pending events that wait for the end of a pause, across all processes; about 10,000 at most.",
    ["destination"],
  ),
  lead_crm_routes_suspended: gauge("CRM routes whose events wait, by reason, across all processes.", [
    "reason",
  ]),
  lead_crm_events_waiting: gauge(
    "Pending events that wait for suspended CRM routes, by reason, across all processes; about 10,000 at most.",
    ["reason"],
  ),
  lead_collisions_open: gauge(
    "Open collisions with another person's event, across all processes; at most 10,000.",
  ),
  lead_sources_silent: gauge(
    "Sources without an event for at least a day and for 1.5 times their longest gap in four weeks.",
  ),
  lead_delivery_in_flight: gauge("Deliveries in flight in this process."),
  lead_delivery_breaker_state: gauge(
    "1 for the state of this process's circuit breaker, 0 for the other states; all 0 in processes that do not deliver.",
    ["state"],
  ),
  lead_delivery_attempts_total: counter("Delivery attempts, by outcome.", ["outcome"]),
  lead_delivery_attempt_duration_seconds: histogram(
    "Duration of a delivery attempt, from the request to its outcome.",
    ["outcome"],
  ),
  lead_time_to_delivery_seconds: histogram("Time from an event's acceptance to its delivery."),
  lead_deaths_total: counter("Events that became dead letters."),
  lead_tier_failures_total: counter(
    "Deliveries and probes without a response from the actions tier or with status 503, by cause.",
    ["cause"],
  ),
  lead_tier_last_answer_age_seconds: gauge(
    "Time since the actions tier last responded to this process; +Inf if never. Absent in processes that do not deliver.",
  ),
  lead_tier_away_seconds: gauge(
    "How long the actions tier has been unavailable to this process; 0 if it is available. Absent in processes that do not deliver.",
  ),
  lead_database_connections: gauge("Connections to the database server, from all clients."),
  lead_database_connections_max: gauge(
    "Connections that the database server allows to roles other than superusers.",
  ),
  lead_database_clock_offset_seconds: gauge("Offset of the database's clock from this machine's."),
  lead_database_size_bytes: gauge("Size of the database on disk, without the WAL."),
  lead_database_disk_size_bytes: gauge(
    "Size of the database folder's file system; absent if the server is on another machine or the role may not read the folder's name.",
  ),
  lead_database_disk_available_bytes: gauge(
    "Free space on the file system of lead_database_disk_size_bytes.",
  ),
  lead_database_standbys: gauge("Servers that currently receive the database's WAL."),
  lead_database_replay_lag_bytes: gauge(
    "WAL in bytes not yet replayed by the slowest standby; absent without a standby or if the role may not read it.",
  ),
  lead_database_archived_timestamp_seconds: gauge(
    "When the database last archived WAL, in seconds since 1970; 0 if never; absent with archive_mode off.",
  ),
  lead_database_archive_failed_timestamp_seconds: gauge(
    "When the database last failed to archive WAL, in seconds since 1970; 0 if never; absent with archive_mode off.",
  ),
  lead_database_timeline: gauge(
    "The primary's timeline number, which grows with every promotion and restore.",
  ),
  lead_backup_timestamp_seconds: gauge(
    "When the backup, or the check of all backups, last succeeded on this machine, in seconds since 1970; absent if there was none.",
    ["what"],
  ),
} as const;

/** The metrics that only the actions process has. */
export const actionsMetrics = {
  lead_effects_total: counter(
    "Calls and emails, by kind of destination and outcome: done, or a reason from docs/delivery.md with the status's class.",
    ["kind", "outcome"],
  ),
  lead_effect_duration_seconds: histogram(
    "Duration of a call or email, from the DNS lookup to its outcome, including the wait for a connection.",
    ["kind"],
  ),
  lead_digests_total: counter("Daily digests, by outcome.", ["outcome"]),
} as const;

/** All metrics, by name. */
export const metrics = { ...processMetrics, ...serviceMetrics, ...actionsMetrics };

/** The name of a metric. */
export type MetricName = keyof typeof metrics;

/** Returns a metric's definition for the registry. */
export function definition(
  name: MetricName,
): { readonly name: string; readonly help: string; readonly labels: readonly string[] } {
  const { help, labels } = metrics[name];
  return { name, help, labels };
}
