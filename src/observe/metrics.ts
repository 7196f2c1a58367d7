/**
 * Every metric, once: the lines of `/metrics` are made from it, and a test holds the alerts and the dashboard to it.
 *
 * @module
 */

/** Which process tells it. */
export type Teller = "service" | "actions" | "both";

/** What is known of a metric before anything is measured. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  /** What one of it is, as a person reads it; a count of things names them. */
  readonly unit: string;
  readonly of: Teller;
  /** In the order in which they are written. Their values come from lists of our own. */
  readonly labels?: readonly string[];
  /** A sentence for `# HELP`. */
  readonly help: string;
}

/** The table, by name. */
export const metrics = {
  http_requests_total: {
    ...{ kind: "counter", unit: "requests", of: "both", labels: ["surface", "route", "method", "status"] },
    help:
      "Requests answered, by listener, route pattern, method and status; - where there is none of our own.",
  },
  http_request_duration_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "both", labels: ["surface", "route", "method"] },
    help: "From the end of a request's headers to its answer handed over.",
  },
  http_response_body_bytes_total: {
    ...{ kind: "counter", unit: "bytes", of: "both", labels: ["surface"] },
    help: "Bytes of answers' bodies handed to their connections.",
  },
  http_requests_aborted_total: {
    ...{ kind: "counter", unit: "requests", of: "both", labels: ["surface"] },
    help: "Requests whose connection closed before the answer was handed over whole.",
  },
  lead_faults_total: {
    ...{ kind: "counter", unit: "faults", of: "both" },
    help: "Faults of ours that were caught at the edge of the server; the log has each with its stack.",
  },
  lead_certificate_expiry_timestamp_seconds: {
    ...{ kind: "gauge", unit: "timestamp", of: "both", labels: ["files"] },
    help:
      "When the first of the certificates in use ends, its issuers' included, in seconds since 1970, by what the files are for.",
  },
  lead_certificate_refused: {
    ...{ kind: "gauge", unit: "yes or no", of: "both", labels: ["files"] },
    help: "1 while the files on the disk cannot be used, and those before them are in use.",
  },
  lead_accepted_total: {
    ...{ kind: "counter", unit: "events", of: "service", labels: ["kind"] },
    help: "Events committed, by kind: leads and form submissions.",
  },
  lead_duplicates_total: {
    ...{ kind: "counter", unit: "posts", of: "service", labels: ["kind"] },
    help: "Posts answered with the event of an earlier one, by kind.",
  },
  lead_refused_total: {
    ...{ kind: "counter", unit: "posts", of: "service", labels: ["kind", "reason"] },
    help:
      "Posts that were not taken, by kind and reason: an error code of the intake, or the status of the forms.",
  },
  lead_refused_fields_total: {
    ...{ kind: "counter", unit: "reasons", of: "service", labels: ["reason"] },
    help: "Reasons for which key holders' posts were refused, by reason; several for one post.",
  },
  lead_submissions_total: {
    ...{ kind: "counter", unit: "submissions", of: "service", labels: ["verdict"] },
    help: "Form submissions committed, by verdict; all but the clean ones are held.",
  },
  lead_submissions_held: {
    ...{ kind: "gauge", unit: "submissions", of: "service" },
    help: "Held submissions that nobody has judged, of all processes; 10,000 at most.",
  },
  lead_commit_duration_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "service" },
    help: "A batch's commit, from the statement sent to its outcome.",
  },
  lead_commit_batch_entries: {
    ...{ kind: "histogram", unit: "posts", of: "service" },
    help: "Posts that one commit has taken together.",
  },
  lead_commit_failures_total: {
    ...{ kind: "counter", unit: "commits", of: "service" },
    help: "Commits that failed or whose outcome is unknown.",
  },
  lead_commit_warnings_total: {
    ...{ kind: "counter", unit: "warnings", of: "service" },
    help:
      "Warnings of the database's with a commit, such as a wait for a synchronous standby that was given up.",
  },
  lead_commit_waiting: {
    ...{ kind: "gauge", unit: "posts", of: "service" },
    help: "Posts that wait for the next commit.",
  },
  lead_store_writable: {
    ...{ kind: "gauge", unit: "yes or no", of: "service" },
    help:
      "1 while the store takes writes, by the commits of posts and, between them, by this process's beats.",
  },
  lead_job_failures_total: {
    ...{ kind: "counter", unit: "runs", of: "service", labels: ["task"] },
    help: "Runs of a background task that failed, by what the log calls it.",
  },
  lead_outbox_pending: {
    ...{ kind: "gauge", unit: "events", of: "service" },
    help: "Events that are not delivered yet, of all processes.",
  },
  lead_outbox_dead: {
    ...{ kind: "gauge", unit: "events", of: "service" },
    help: "Dead letters, of all processes.",
  },
  lead_outbox_oldest_pending_age_seconds: {
    ...{ kind: "gauge", unit: "seconds", of: "service" },
    help: "Since the acceptance of what waits longest; 0: nothing.",
  },
  lead_outbox_overdue_seconds: {
    ...{ kind: "gauge", unit: "seconds", of: "service" },
    help:
      "For how long the first delivery that is due has been due, of all processes; what waits for a retry or a route is not due.",
  },
  lead_outbox_unrouted_tenants: {
    ...{ kind: "gauge", unit: "tenants", of: "service" },
    help: "Live tenants without a route that have leads waiting for one.",
  },
  lead_collisions_open: {
    ...{ kind: "gauge", unit: "leads", of: "service" },
    help:
      "Leads of another person under a used Idempotency-Key that no operator has accepted or dismissed, of all processes; 10,000 at most.",
  },
  lead_sources_silent: {
    ...{ kind: "gauge", unit: "sources", of: "service" },
    help:
      "Sources that have sent nothing for one and a half times their longest pause of four weeks, a day at least.",
  },
  lead_delivery_in_flight: {
    ...{ kind: "gauge", unit: "deliveries", of: "service" },
    help: "Deliveries that are being made by this process.",
  },
  lead_delivery_breaker_state: {
    ...{ kind: "gauge", unit: "yes or no", of: "service", labels: ["state"] },
    help: "1 for the state of this process's breaker; none of them without an actions tier.",
  },
  lead_delivery_attempts_total: {
    ...{ kind: "counter", unit: "attempts", of: "service", labels: ["outcome"] },
    help: "Attempts to deliver, by outcome.",
  },
  lead_delivery_attempt_duration_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "service", labels: ["outcome"] },
    help: "An attempt to deliver, from the request to its outcome.",
  },
  lead_time_to_delivery_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "service" },
    help: "From an event's acceptance to its delivery.",
  },
  lead_deaths_total: {
    ...{ kind: "counter", unit: "events", of: "service" },
    help: "Events given up: dead letters made.",
  },
  lead_tier_failures_total: {
    ...{ kind: "counter", unit: "failures", of: "service", labels: ["cause"] },
    help: "Times that the actions tier gave this process no answer, or 503, by cause; probes count too.",
  },
  lead_tier_last_answer_age_seconds: {
    ...{ kind: "gauge", unit: "seconds", of: "service" },
    help:
      "Since the actions tier last answered a delivery of this process; +Inf: never. None where nothing is delivered.",
  },
  lead_tier_away_seconds: {
    ...{ kind: "gauge", unit: "seconds", of: "service" },
    help: "For how long the actions tier is away for this process; 0: it is not.",
  },
  lead_effects_total: {
    ...{ kind: "counter", unit: "effects", of: "actions", labels: ["kind", "outcome"] },
    help:
      "Calls and mails that were tried, by the kind of their destination and outcome: done, or the word of docs/delivery.md, statuses by their first digit.",
  },
  lead_effect_duration_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "actions", labels: ["kind"] },
    help: "A call or a mail, from the look-up of the name to its outcome, waits for a connection included.",
  },
  lead_digests_total: {
    ...{ kind: "counter", unit: "mails", of: "actions", labels: ["outcome"] },
    help: "Daily digests that were tried, by outcome.",
  },
  lead_database_connections: {
    ...{ kind: "gauge", unit: "connections", of: "service" },
    help: "Connections to the database server, of everybody.",
  },
  lead_database_connections_max: {
    ...{ kind: "gauge", unit: "connections", of: "service" },
    help: "How many connections the database server has for those who are no superusers.",
  },
  lead_database_clock_offset_seconds: {
    ...{ kind: "gauge", unit: "seconds", of: "service" },
    help: "How far the database's clock is ahead of this machine's.",
  },
  lead_database_size_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "service" },
    help: "What the database takes on the disk, without the WAL.",
  },
  lead_database_disk_size_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "service" },
    help:
      "The file system of the database's folder; left out where the server is another machine, or the role may not know the folder.",
  },
  lead_database_disk_available_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "service" },
    help: "What is free of lead_database_disk_size_bytes.",
  },
  lead_database_standbys: {
    ...{ kind: "gauge", unit: "servers", of: "service" },
    help: "Servers that receive the database's WAL at this moment.",
  },
  lead_database_replay_lag_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "service" },
    help:
      "WAL that the standby farthest behind has not replayed; left out without one, and where the role may not know.",
  },
  lead_database_archived_timestamp_seconds: {
    ...{ kind: "gauge", unit: "timestamp", of: "service" },
    help:
      "When the database last archived WAL, in seconds since 1970; left out with archive_mode off; 0: never.",
  },
  lead_database_archive_failed_timestamp_seconds: {
    ...{ kind: "gauge", unit: "timestamp", of: "service" },
    help: "When the database last failed to archive WAL, likewise.",
  },
  lead_database_timeline: {
    ...{ kind: "gauge", unit: "count", of: "service" },
    help: "The number of the primary's timeline, which grows with every promotion and restore.",
  },
  lead_backup_timestamp_seconds: {
    ...{ kind: "gauge", unit: "timestamp", of: "service", labels: ["what"] },
    help:
      "When the backup, and the check of all backups, last succeeded on this machine, in seconds since 1970; left out where there was none.",
  },
  lead_build_info: {
    ...{ kind: "gauge", unit: "one", of: "both", labels: ["version", "runtime", "runtime_version"] },
    help: "Always 1; the labels say what runs.",
  },
  lead_last_failure: {
    ...{ kind: "gauge", unit: "one", of: "both", labels: ["result"] },
    help:
      "1 when the process before this one failed, by how, in systemd's word, such as watchdog; left out when it ended in good order.",
  },
  process_cpu_seconds_total: {
    ...{ kind: "counter", unit: "seconds", of: "both" },
    help: "Processor time of the process, user and system, in seconds.",
  },
  process_resident_memory_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "both" },
    help: "Resident memory in bytes.",
  },
  process_memory_limit_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "both" },
    help: "What the system lets the process have of memory; left out where there is no limit.",
  },
  process_heap_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "both" },
    help: "JavaScript heap in use, in bytes.",
  },
  process_heap_limit_bytes: {
    ...{ kind: "gauge", unit: "bytes", of: "both" },
    help: "The heap at which the runtime gives up, in bytes.",
  },
  process_gc_seconds_total: {
    ...{ kind: "counter", unit: "seconds", of: "both" },
    help: "Time in which garbage was collected, in seconds; left out on Deno, which does not say.",
  },
  process_start_time_seconds: {
    ...{ kind: "gauge", unit: "timestamp", of: "both" },
    help: "When the process started, in seconds since 1970.",
  },
  process_open_fds: {
    ...{ kind: "gauge", unit: "files", of: "both" },
    help: "Open file descriptors; left out where they cannot be read.",
  },
  process_max_fds: {
    ...{ kind: "gauge", unit: "files", of: "both" },
    help: "How many file descriptors the process may open; left out where it cannot be read.",
  },
  process_event_loop_lag_seconds: {
    ...{ kind: "histogram", unit: "seconds", of: "both" },
    help: "How late a timer of 100 ms was.",
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** The name of one of them. */
export type MetricName = keyof typeof metrics;

/** A metric of the table, as a family of the registry takes it. */
export function described(
  name: MetricName,
): { readonly name: string; readonly help: string; readonly labels: readonly string[] } {
  const { help, labels = [] }: Metric = metrics[name];
  return { name, help, labels };
}
