/**
 * Every metric, once: the lines of `/metrics` are made from it, and a test holds the alerts and the dashboard to it.
 *
 * @module
 */

/** What is known of a metric before anything is measured. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  /** A sentence for `# HELP`. */
  readonly help: string;
  /** In the order in which they are written. Their values come from lists of our own. */
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

/** What both processes tell of themselves. */
export const processMetrics = {
  http_requests_total: counter(
    "Requests answered, by listener, route pattern, method and status; - where there is none of our own.",
    ["surface", "route", "method", "status"],
  ),
  http_request_duration_seconds: histogram("From the end of a request's headers to its answer handed over.", [
    "surface",
    "route",
    "method",
  ]),
  http_response_body_bytes_total: counter("Bytes of answers' bodies handed to their connections.", [
    "surface",
  ]),
  http_requests_aborted_total: counter(
    "Requests whose connection closed before the answer was handed over whole.",
    ["surface"],
  ),
  lead_faults_total: counter(
    "Faults of ours that were caught at the edge of the server; the log has each with its stack.",
  ),
  lead_certificate_expiry_timestamp_seconds: gauge(
    "When the first of the certificates in use ends, its issuers' included, in seconds since 1970, by what the files are for.",
    ["files"],
  ),
  lead_certificate_refused: gauge(
    "1 while the files on the disk cannot be used, and those before them are in use.",
    ["files"],
  ),
  lead_build_info: gauge("Always 1; the labels say what runs.", ["version", "runtime", "runtime_version"]),
  lead_last_failure: gauge(
    "1 when the process before this one failed, by how, in systemd's word, such as watchdog; left out when it ended in good order.",
    ["result"],
  ),
  process_cpu_seconds_total: counter("Processor time of the process, user and system, in seconds."),
  process_resident_memory_bytes: gauge("Resident memory in bytes."),
  process_memory_limit_bytes: gauge(
    "What the system lets the process have of memory; left out where there is no limit.",
  ),
  process_heap_bytes: gauge("JavaScript heap in use, in bytes."),
  process_heap_limit_bytes: gauge("The heap at which the runtime gives up, in bytes."),
  process_gc_seconds_total: counter(
    "Time in which garbage was collected, in seconds; left out on Deno, which does not say.",
  ),
  process_start_time_seconds: gauge("When the process started, in seconds since 1970."),
  process_open_fds: gauge("Open file descriptors; left out where they cannot be read."),
  process_max_fds: gauge("How many file descriptors the process may open; left out where it cannot be read."),
  process_event_loop_lag_seconds: histogram("How late a timer of 100 ms was."),
} as const;

/** What the service alone tells. */
export const serviceMetrics = {
  lead_accepted_total: counter("Events committed, by kind: leads and form submissions.", ["kind"]),
  lead_duplicates_total: counter("Posts answered with the event of an earlier one, by kind.", ["kind"]),
  lead_refused_total: counter(
    "Posts that were not taken, by kind and reason: an error code of the intake, or the status of the forms.",
    ["kind", "reason"],
  ),
  lead_refused_fields_total: counter(
    "Reasons for which key holders' posts were refused, by reason; several for one post.",
    ["reason"],
  ),
  lead_submissions_total: counter(
    "Form submissions committed, by verdict; all but the clean ones are held.",
    ["verdict"],
  ),
  lead_submissions_held: gauge("Held submissions that nobody has judged, of all processes; 10,000 at most."),
  lead_commit_duration_seconds: histogram("A batch's commit, from the statement sent to its outcome."),
  lead_commit_batch_entries: histogram("Posts that one commit has taken together."),
  lead_commit_failures_total: counter("Commits that failed or whose outcome is unknown."),
  lead_commit_warnings_total: counter(
    "Warnings of the database's with a commit, such as a wait for a synchronous standby that was given up.",
  ),
  lead_commit_waiting: gauge("Posts that wait for the next commit."),
  lead_store_writable: gauge(
    "1 while the store takes writes, by the commits of posts and, between them, by this process's beats.",
  ),
  lead_job_failures_total: counter("Runs of a background task that failed, by what the log calls it.", [
    "task",
  ]),
  lead_outbox_pending: gauge("Events that are not delivered yet, of all processes."),
  lead_outbox_dead: gauge("Dead letters, of all processes."),
  lead_outbox_oldest_pending_age_seconds: gauge("Since the acceptance of what waits longest; 0: nothing."),
  lead_outbox_overdue_seconds: gauge(
    "For how long the first delivery that is due has been due, of all processes; what waits for a retry or a route is not due.",
  ),
  lead_outbox_unrouted_tenants: gauge("Live tenants without a route that have leads waiting for one."),
  lead_collisions_open: gauge(
    "Leads of another person under a used Idempotency-Key that no operator has accepted or dismissed, of all processes; 10,000 at most.",
  ),
  lead_sources_silent: gauge(
    "Sources that have sent nothing for one and a half times their longest pause of four weeks, a day at least.",
  ),
  lead_delivery_in_flight: gauge("Deliveries that are being made by this process."),
  lead_delivery_breaker_state: gauge(
    "1 for the state of this process's breaker; none of them without an actions tier.",
    ["state"],
  ),
  lead_delivery_attempts_total: counter("Attempts to deliver, by outcome.", ["outcome"]),
  lead_delivery_attempt_duration_seconds: histogram(
    "An attempt to deliver, from the request to its outcome.",
    ["outcome"],
  ),
  lead_time_to_delivery_seconds: histogram("From an event's acceptance to its delivery."),
  lead_deaths_total: counter("Events given up: dead letters made."),
  lead_tier_failures_total: counter(
    "Times that the actions tier gave this process no answer, or 503, by cause; probes count too.",
    ["cause"],
  ),
  lead_tier_last_answer_age_seconds: gauge(
    "Since the actions tier last answered a delivery of this process; +Inf: never. None where nothing is delivered.",
  ),
  lead_tier_away_seconds: gauge("For how long the actions tier is away for this process; 0: it is not."),
  lead_database_connections: gauge("Connections to the database server, of everybody."),
  lead_database_connections_max: gauge(
    "How many connections the database server has for those who are no superusers.",
  ),
  lead_database_clock_offset_seconds: gauge("How far the database's clock is ahead of this machine's."),
  lead_database_size_bytes: gauge("What the database takes on the disk, without the WAL."),
  lead_database_disk_size_bytes: gauge(
    "The file system of the database's folder; left out where the server is another machine, or the role may not know the folder.",
  ),
  lead_database_disk_available_bytes: gauge("What is free of lead_database_disk_size_bytes."),
  lead_database_standbys: gauge("Servers that receive the database's WAL at this moment."),
  lead_database_replay_lag_bytes: gauge(
    "WAL that the standby farthest behind has not replayed; left out without one, and where the role may not know.",
  ),
  lead_database_archived_timestamp_seconds: gauge(
    "When the database last archived WAL, in seconds since 1970; left out with archive_mode off; 0: never.",
  ),
  lead_database_archive_failed_timestamp_seconds: gauge(
    "When the database last failed to archive WAL, likewise.",
  ),
  lead_database_timeline: gauge(
    "The number of the primary's timeline, which grows with every promotion and restore.",
  ),
  lead_backup_timestamp_seconds: gauge(
    "When the backup, and the check of all backups, last succeeded on this machine, in seconds since 1970; left out where there was none.",
    ["what"],
  ),
} as const;

/** What the actions process alone tells. */
export const actionsMetrics = {
  lead_effects_total: counter(
    "Calls and mails that were tried, by the kind of their destination and outcome: done, or the word of docs/delivery.md, statuses by their first digit.",
    ["kind", "outcome"],
  ),
  lead_effect_duration_seconds: histogram(
    "A call or a mail, from the look-up of the name to its outcome, waits for a connection included.",
    ["kind"],
  ),
  lead_digests_total: counter("Daily digests that were tried, by outcome.", ["outcome"]),
} as const;

/** All of them, by name. */
export const metrics = { ...processMetrics, ...serviceMetrics, ...actionsMetrics };

/** The name of one of them. */
export type MetricName = keyof typeof metrics;

/** A metric of the table, as a family of the registry takes it. */
export function described(
  name: MetricName,
): { readonly name: string; readonly help: string; readonly labels: readonly string[] } {
  const { help, labels } = metrics[name];
  return { name, help, labels };
}
