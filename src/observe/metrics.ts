/** All metrics. `/metrics` is generated from this table, and a test checks alerts and dashboard against it. */

/** A metric's definition. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  /** A sentence for `# HELP`. */
  readonly help: string;
  /** In output order. Values come from our own lists. */
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

/** Metrics of both processes. */
export const processMetrics = {
  http_requests_total: counter(
    "Requests answered, by listener, route pattern, method and status; - where there is none of our own.",
    ["surface", "route", "method", "status"],
  ),
  http_request_duration_seconds: histogram(
    "Time from the end of a request's headers until its response is handed over.",
    [
      "surface",
      "route",
      "method",
    ],
  ),
  http_response_body_bytes_total: counter("Bytes of response bodies handed to their connections.", [
    "surface",
  ]),
  http_requests_aborted_total: counter(
    "Requests whose connection closed before the whole response was handed over.",
    ["surface"],
  ),
  lead_faults_total: counter(
    "Exceptions caught at the edge of the server; the log has each with its stack.",
  ),
  lead_certificate_expiry_timestamp_seconds: gauge(
    "When the first of the certificates in use, or of their issuers, expires, in seconds since 1970, by use of the files.",
    ["files"],
  ),
  lead_certificate_refused: gauge(
    "1 while the files on disk are unusable and the previous ones stay in use.",
    ["files"],
  ),
  lead_build_info: gauge("Always 1; the labels name the version and runtime.", [
    "version",
    "runtime",
    "runtime_version",
  ]),
  lead_last_failure: gauge(
    "1 if the previous process failed, by systemd's result, such as watchdog; left out if it exited cleanly.",
    ["result"],
  ),
  process_cpu_seconds_total: counter("Processor time of the process, user and system, in seconds."),
  process_resident_memory_bytes: gauge("Resident memory in bytes."),
  process_memory_limit_bytes: gauge(
    "Memory limit of the process; left out if there is none.",
  ),
  process_heap_bytes: gauge("JavaScript heap in use, in bytes."),
  process_heap_limit_bytes: gauge("Heap limit of the runtime, in bytes."),
  process_gc_seconds_total: counter(
    "Time spent in garbage collection, in seconds; left out on Deno.",
  ),
  process_start_time_seconds: gauge("When the process started, in seconds since 1970."),
  process_open_fds: gauge("Open file descriptors; left out if unreadable."),
  process_max_fds: gauge("Limit of open file descriptors; left out if unreadable."),
  process_event_loop_lag_seconds: histogram("Delay of a 100 ms timer."),
} as const;

/** Metrics of the service only. */
export const serviceMetrics = {
  lead_accepted_total: counter("Events committed, by kind: leads and form submissions.", ["kind"]),
  lead_duplicates_total: counter("Posts answered with the event of an earlier one, by kind.", ["kind"]),
  lead_refused_total: counter(
    "Refused posts, by kind and reason: the intake's error code, or the forms' status.",
    ["kind", "reason"],
  ),
  lead_refused_fields_total: counter(
    "Reasons for refusing key holders' posts; a post can have several.",
    ["reason"],
  ),
  lead_submissions_total: counter(
    "Form submissions committed, by verdict; all but clean ones are held.",
    ["verdict"],
  ),
  lead_submissions_held: gauge("Held submissions waiting for a decision, of all processes; 10,000 at most."),
  lead_commit_duration_seconds: histogram("Time of a batch's commit, from the statement to its outcome."),
  lead_commit_batch_entries: histogram("Posts in one commit."),
  lead_commit_failures_total: counter("Commits that failed or whose outcome is unknown."),
  lead_commit_warnings_total: counter(
    "Database warnings at a commit, such as a cancelled wait for a synchronous standby.",
  ),
  lead_commit_waiting: gauge("Posts waiting for the next commit."),
  lead_store_writable: gauge(
    "1 while the store takes writes, according to commits and, between them, this process's heartbeats.",
  ),
  lead_job_failures_total: counter("Failed runs of background tasks, by log event.", [
    "task",
  ]),
  lead_outbox_pending: gauge("Events not delivered yet, of all processes."),
  lead_outbox_dead: gauge("Dead letters, of all processes."),
  lead_outbox_oldest_pending_age_seconds: gauge("Age of the oldest undelivered event; 0 if there is none."),
  lead_outbox_overdue_seconds: gauge(
    "How long the oldest due delivery has been due, of all processes; waiting for a retry or a route is not due.",
  ),
  lead_outbox_unrouted_tenants: gauge("Live tenants with leads waiting for a route."),
  lead_collisions_open: gauge(
    "Another person's leads under a used Idempotency-Key, neither accepted nor dismissed, of all processes; 10,000 at most.",
  ),
  lead_sources_silent: gauge(
    "Sources silent for 1.5 times their longest pause of four weeks, and at least a day.",
  ),
  lead_delivery_in_flight: gauge("Deliveries in flight in this process."),
  lead_delivery_breaker_state: gauge(
    "1 for the state of this process's breaker; absent without an actions tier.",
    ["state"],
  ),
  lead_delivery_attempts_total: counter("Delivery attempts, by outcome.", ["outcome"]),
  lead_delivery_attempt_duration_seconds: histogram(
    "Time of a delivery attempt, from the request to its outcome.",
    ["outcome"],
  ),
  lead_time_to_delivery_seconds: histogram("Time from an event's acceptance to its delivery."),
  lead_deaths_total: counter("Events that became dead letters."),
  lead_tier_failures_total: counter(
    "Deliveries and probes that the actions tier did not answer, or answered 503, by cause.",
    ["cause"],
  ),
  lead_tier_last_answer_age_seconds: gauge(
    "Time since the actions tier last answered a delivery of this process; +Inf: never. Absent where nothing is delivered.",
  ),
  lead_tier_away_seconds: gauge(
    "How long the actions tier has been unreachable for this process; 0 if it is reachable.",
  ),
  lead_database_connections: gauge("Connections to the database server, from all clients."),
  lead_database_connections_max: gauge(
    "Connections that the database server allows to roles other than superusers.",
  ),
  lead_database_clock_offset_seconds: gauge("Lead of the database's clock over this machine's."),
  lead_database_size_bytes: gauge("Size of the database on disk, without the WAL."),
  lead_database_disk_size_bytes: gauge(
    "Size of the database folder's file system; left out if the server is on another machine or the role may not read the folder's name.",
  ),
  lead_database_disk_available_bytes: gauge("Free part of lead_database_disk_size_bytes."),
  lead_database_standbys: gauge("Servers that currently receive the database's WAL."),
  lead_database_replay_lag_bytes: gauge(
    "WAL not yet replayed by the slowest standby; left out without one, or if the role may not read it.",
  ),
  lead_database_archived_timestamp_seconds: gauge(
    "When the database last archived WAL, in seconds since 1970; 0: never; left out with archive_mode off.",
  ),
  lead_database_archive_failed_timestamp_seconds: gauge(
    "When the database last failed to archive WAL; values as above.",
  ),
  lead_database_timeline: gauge(
    "The primary's timeline number, which grows with every promotion and restore.",
  ),
  lead_backup_timestamp_seconds: gauge(
    "When the backup, or the check of all backups, last succeeded on this machine, in seconds since 1970; left out if there was none.",
    ["what"],
  ),
} as const;

/** Metrics of the actions process only. */
export const actionsMetrics = {
  lead_effects_total: counter(
    "Calls and mails, by kind of destination and outcome: done, or the reason in docs/delivery.md, statuses by first digit.",
    ["kind", "outcome"],
  ),
  lead_effect_duration_seconds: histogram(
    "Time of a call or mail, from the DNS lookup to its outcome, including waits for a connection.",
    ["kind"],
  ),
  lead_digests_total: counter("Daily digests, by outcome.", ["outcome"]),
} as const;

/** All metrics, by name. */
export const metrics = { ...processMetrics, ...serviceMetrics, ...actionsMetrics };

/** The name of a metric. */
export type MetricName = keyof typeof metrics;

/** A metric as the registry expects it. */
export function described(
  name: MetricName,
): { readonly name: string; readonly help: string; readonly labels: readonly string[] } {
  const { help, labels } = metrics[name];
  return { name, help, labels };
}
