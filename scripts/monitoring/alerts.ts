/**
 * The alerts: what has to be so for how long, whom it wakes, and what it says. Each has a paragraph of its name in
 * docs/runbook.md. The file of rules is made from this table.
 *
 * @module
 */

/** A rule that calls somebody. */
export interface Alert {
  /** `page`: at any hour, because leads are lost or late now. `ticket`: on the next working day. */
  readonly severity: "page" | "ticket";
  /** For how long it has to be so. */
  readonly for: string;
  readonly expr: string;
  /** A line, as a phone shows it. */
  readonly summary: string;
  /** With the value, as Prometheus's templates write it. */
  readonly description: string;
}

const failedPosts = 'lead_refused_total{reason=~"not_accepting|503"}';

/** The share of the posts that are leads and were answered 503, over a window. */
function failedShare(window: string): string {
  const rate = (series: string) => `sum(rate(${series}[${window}]))`;
  const all = [failedPosts, "lead_accepted_total", "lead_duplicates_total"].map(rate).join(" + ");
  return `${rate(failedPosts)} / (${all})`;
}

/** What is recorded, so that the alerts can be read; by name. */
export const records: Readonly<Record<string, string>> = Object.fromEntries(
  ["5m", "30m", "1h", "6h"].map((window) => [`lead:posts_failed:share${window}`, failedShare(window)]),
);

const p99 = (name: string, selector: string, window: string) =>
  `histogram_quantile(0.99, sum by (le, instance) (rate(${name}_bucket${selector}[${window}])))`;

/** All of them, the worst first. */
export const alerts = {
  IntakeDown: {
    severity: "page",
    for: "2m",
    expr: 'absent(up{job="lead-intake"}) or sum(up{job="lead-intake"}) == 0',
    summary: "No process takes leads",
    description:
      "Prometheus reaches no process of the job lead-intake. Partners and forms are probably refused right now.",
  },
  StoreNotWritable: {
    severity: "page",
    for: "1m",
    expr: "lead_store_writable == 0",
    summary: "The database takes no writes: posts are answered 503",
    description:
      "{{ $labels.instance }} cannot commit. Callers that repeat a 503 lose nothing; the others do.",
  },
  PostsFail: {
    severity: "page",
    for: "2m",
    // 14.4 times what 99.9 % allow: two percent of a month's budget in an hour.
    expr: "lead:posts_failed:share5m > 0.0144 and lead:posts_failed:share1h > 0.0144",
    summary: "Posts are answered 503",
    description:
      "{{ $value | humanizePercentage }} of the leads posted in the last 5 minutes were answered 503.",
  },
  PostsFailSlowly: {
    severity: "ticket",
    for: "15m",
    // 6 times: five percent of the budget in six hours.
    expr: "lead:posts_failed:share30m > 0.006 and lead:posts_failed:share6h > 0.006",
    summary: "Some posts are answered 503, for hours",
    description:
      "{{ $value | humanizePercentage }} of the leads posted in the last 30 minutes were answered 503.",
  },
  RestartLoop: {
    severity: "page",
    for: "1m",
    expr: "changes(process_start_time_seconds[15m]) > 3",
    summary: "A process starts again and again",
    description: "{{ $labels.job }} {{ $labels.instance }} has started {{ $value }} times in 15 minutes.",
  },
  ProcessFailed: {
    severity: "ticket",
    for: "0m",
    expr: "lead_last_failure == 1 and on (job, instance) time() - process_start_time_seconds < 3600",
    summary: "A process failed, and another took its place",
    description: "{{ $labels.job }} {{ $labels.instance }}: systemd calls it {{ $labels.result }}.",
  },
  DeliveryStuck: {
    severity: "page",
    for: "5m",
    expr: "max(lead_outbox_overdue_seconds) > 300",
    summary: "Leads are not delivered",
    description: "A delivery has been due for {{ $value | humanizeDuration }}, and nobody makes it.",
  },
  ActionsTierAway: {
    severity: "page",
    for: "1m",
    expr: "lead_tier_away_seconds > 120",
    summary: "The actions process cannot be reached: nothing is delivered",
    description:
      "{{ $labels.instance }} has had no answer of it for {{ $value | humanizeDuration }}. Leads are kept, and wait.",
  },
  NothingDelivered: {
    severity: "page",
    for: "5m",
    expr: `sum(increase(lead_delivery_attempts_total{outcome!="delivered"}[15m])) > 20
  and sum(increase(lead_delivery_attempts_total{outcome="delivered"}[15m])) == 0`,
    summary: "Every delivery fails",
    description: "{{ $value | humanize }} attempts in 15 minutes, and not one was delivered.",
  },
  DestinationsFail: {
    severity: "page",
    for: "5m",
    expr: `sum by (kind) (increase(lead_effects_total{outcome!="done"}[15m])) > 20
  and sum by (kind) (increase(lead_effects_total{outcome="done"}[15m])) == 0`,
    summary: "Every destination of a kind fails",
    description:
      "{{ $value | humanize }} of the kind {{ $labels.kind }} were tried in 15 minutes, and not one was done.",
  },
  CertificateEnds: {
    severity: "page",
    for: "5m",
    expr: "lead_certificate_expiry_timestamp_seconds - time() < 2 * 86400",
    summary: "A certificate ends within two days",
    description:
      "The certificate of {{ $labels.files }} at {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.",
  },
  DatabaseDiskFull: {
    severity: "page",
    for: "5m",
    expr: `lead_database_disk_available_bytes / lead_database_disk_size_bytes < 0.05
  or (predict_linear(lead_database_disk_available_bytes[1h], 4 * 3600) < 0
    and lead_database_disk_available_bytes / lead_database_disk_size_bytes < 0.4)`,
    summary: "The database's disk is full, or will be within hours",
    description: "When it is full, no lead is taken. {{ $labels.instance }} sees it.",
  },
  DatabaseDiskFills: {
    severity: "ticket",
    for: "30m",
    expr: "lead_database_disk_available_bytes / lead_database_disk_size_bytes < 0.2",
    summary: "The database's disk fills",
    description: "{{ $value | humanizePercentage }} of it are free.",
  },
  DatabaseGrows: {
    severity: "ticket",
    for: "1h",
    expr: `max(lead_database_size_bytes) > 1.5 * max(lead_database_size_bytes offset 7d)
  and max(lead_database_size_bytes) > 2^30`,
    summary: "The database has grown by half in a week",
    description: "It is {{ $value | humanize1024 }}B now.",
  },
  DatabaseConnectionsRunOut: {
    severity: "ticket",
    for: "10m",
    expr: "max(lead_database_connections) / max(lead_database_connections_max) > 0.85",
    summary: "The database has few connections left",
    description: "{{ $value | humanizePercentage }} of max_connections are taken.",
  },
  PrimaryChanges: {
    severity: "page",
    for: "0m",
    // Of the greatest: a process may still know the primary before.
    expr: "max(lead_database_timeline) - min_over_time(max(lead_database_timeline)[1h:]) > 2",
    summary: "The database's primary changes again and again",
    description: "{{ $value }} promotions within an hour. Each stops the intake for seconds.",
  },
  FailedOver: {
    severity: "ticket",
    for: "0m",
    expr: "max(lead_database_timeline) > min_over_time(max(lead_database_timeline)[1h:])",
    summary: "Another server has become the database's primary",
    description: "It writes timeline {{ $value }}. Is the one before it a standby again?",
  },
  StandbyLost: {
    severity: "ticket",
    for: "5m",
    expr: "max(lead_database_standbys) < max_over_time(max(lead_database_standbys)[6h:])",
    summary: "A standby of the database is missing",
    description: "{{ $value }} are connected, and there were more within six hours.",
  },
  StandbyBehind: {
    severity: "ticket",
    for: "10m",
    expr: "max(lead_database_replay_lag_bytes) > 256 * 2^20",
    summary: "A standby of the database is far behind",
    description: "{{ $value | humanize1024 }}B of WAL are not replayed: a fail-over would take long.",
  },
  CommitWarning: {
    severity: "ticket",
    for: "0m",
    expr: "increase(lead_commit_warnings_total[1h]) > 0",
    summary: "The database has warned at a commit",
    description:
      "{{ $value | humanize }} warnings within an hour at {{ $labels.instance }}: most often a wait for a synchronous standby that was given up.",
  },
  ArchiveFails: {
    severity: "ticket",
    for: "15m",
    expr:
      "max(lead_database_archive_failed_timestamp_seconds) > max(lead_database_archived_timestamp_seconds)",
    summary: "The database cannot archive its WAL",
    description: "The last try failed. Backups have a gap from then on, and the disk fills with WAL.",
  },
  ArchiveStale: {
    severity: "ticket",
    for: "15m",
    expr: "time() - max(lead_database_archived_timestamp_seconds) > 26 * 3600",
    summary: "No WAL was archived for a day",
    description:
      "The last was archived {{ $value | humanizeDuration }} ago: what came since is in no backup.",
  },
  BackupStale: {
    severity: "ticket",
    for: "15m",
    expr: 'time() - max(lead_backup_timestamp_seconds{what="backup"}) > 26 * 3600',
    summary: "No backup has succeeded for a day",
    description: "The last is {{ $value | humanizeDuration }} old.",
  },
  BackupUnchecked: {
    severity: "ticket",
    for: "15m",
    // A month, and a day to mend what kept it from being done.
    expr: 'time() - max(lead_backup_timestamp_seconds{what="check"}) > 32 * 86400',
    summary: "The backups were not checked, or the check has failed",
    description: "It succeeded {{ $value | humanizeDuration }} ago, and is due every month.",
  },
  ClockSkew: {
    severity: "ticket",
    for: "5m",
    expr: "abs(lead_database_clock_offset_seconds) > 2",
    summary: "The clocks of the service and its database differ",
    description: "{{ $labels.instance }} differs by {{ $value | humanizeDuration }} from the database.",
  },
  InstanceDown: {
    severity: "ticket",
    for: "5m",
    expr: 'up{job=~"lead-.*"} == 0',
    summary: "A process does not answer Prometheus",
    description: "{{ $labels.job }} {{ $labels.instance }} cannot be scraped.",
  },
  FiguresMissing: {
    severity: "ticket",
    for: "15m",
    expr: "lead_store_writable == 1 unless on (instance) lead_database_size_bytes",
    summary: "How the database stands is not known",
    description:
      "{{ $labels.instance }} cannot read it, so the alerts about disk, connections, standbys and overdue deliveries are blind there.",
  },
  VersionsDiffer: {
    severity: "ticket",
    for: "1h",
    expr: "count(count by (version) (lead_build_info)) > 1",
    summary: "Processes of different versions run",
    description: "{{ $value }} versions have run beside one another for an hour.",
  },
  PostsSlow: {
    severity: "ticket",
    for: "10m",
    expr: `${p99("http_request_duration_seconds", '{route="/v1/intake",method="POST"}', "10m")} > 2.5`,
    summary: "Posts are slow",
    description:
      "One in a hundred posts at {{ $labels.instance }} takes {{ $value | humanizeDuration }} or more.",
  },
  EventLoopLate: {
    severity: "ticket",
    for: "10m",
    expr: `${p99("process_event_loop_lag_seconds", "", "10m")} > 0.5`,
    summary: "A process is busy with itself",
    description:
      "One timer in a hundred at {{ $labels.instance }} is late by {{ $value | humanizeDuration }}.",
  },
  MemoryNearLimit: {
    severity: "ticket",
    for: "10m",
    expr: `process_resident_memory_bytes / process_memory_limit_bytes > 0.9
  or process_heap_bytes / process_heap_limit_bytes > 0.85`,
    summary: "A process is near its limit of memory",
    description: "{{ $labels.instance }} uses {{ $value | humanizePercentage }} of what it may.",
  },
  FilesRunOut: {
    severity: "ticket",
    for: "5m",
    expr: "process_open_fds / process_max_fds > 0.8",
    summary: "A process has few file descriptors left",
    description:
      "{{ $labels.instance }} has taken {{ $value | humanizePercentage }} of them; connections are next.",
  },
  Faults: {
    severity: "ticket",
    for: "0m",
    expr: "increase(lead_faults_total[15m]) > 0",
    summary: "A fault of ours was caught",
    description: "{{ $value | humanize }} in 15 minutes at {{ $labels.instance }}; each was answered 503.",
  },
  TaskFails: {
    severity: "ticket",
    for: "10m",
    expr: `increase(lead_job_failures_total[15m]) > 5
  unless on (instance) min_over_time(lead_store_writable[15m]) == 0`,
    summary: "A background task fails",
    description: "{{ $labels.task }}: {{ $value | humanize }} times in 15 minutes at {{ $labels.instance }}.",
  },
  CertificateEndsSoon: {
    severity: "ticket",
    for: "1h",
    expr: "lead_certificate_expiry_timestamp_seconds - time() < 21 * 86400",
    summary: "A certificate ends within three weeks",
    description:
      "The certificate of {{ $labels.files }} at {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.",
  },
  CertificateRefused: {
    severity: "ticket",
    for: "15m",
    expr: "lead_certificate_refused == 1",
    summary: "Renewed certificate files cannot be used",
    description:
      "Those of {{ $labels.files }} at {{ $labels.instance }}: the ones before them are still in use.",
  },
  BreakerOpen: {
    severity: "ticket",
    for: "5m",
    expr: 'avg_over_time(lead_delivery_breaker_state{state="open"}[15m]) > 0.25',
    summary: "The way to the actions process comes and goes",
    description:
      "The breaker of {{ $labels.instance }} was open for {{ $value | humanizePercentage }} of 15 minutes.",
  },
  OldestLeadWaits: {
    severity: "ticket",
    for: "5m",
    expr: "max(lead_outbox_oldest_pending_age_seconds) > 3600",
    summary: "A lead has waited for more than an hour",
    description: "The oldest was accepted {{ $value | humanizeDuration }} ago.",
  },
  TenantWithoutRoute: {
    severity: "ticket",
    for: "10m",
    expr: "max(lead_outbox_unrouted_tenants) > 0",
    summary: "Leads wait for a route",
    description: "{{ $value }} tenants get leads and have nowhere to send them to.",
  },
  DeadLetters: {
    severity: "ticket",
    for: "1m",
    expr: "max(lead_outbox_dead) > 0",
    summary: "Leads were given up",
    description: "{{ $value }} dead letters wait for somebody to replay them.",
  },
  DigestsFail: {
    severity: "ticket",
    for: "0m",
    expr: 'increase(lead_digests_total{outcome="failed"}[1h]) > 2',
    summary: "Daily digests are not sent",
    description: "{{ $value | humanize }} tries failed within an hour.",
  },
  CollisionsOpen: {
    severity: "ticket",
    for: "10m",
    expr: "max(lead_collisions_open) > 0",
    summary: "Leads of other people came under used keys",
    description: "{{ $value }} were answered as duplicates and reach nobody until somebody decides.",
  },
  SourceSilent: {
    severity: "ticket",
    for: "10m",
    expr: "max(lead_sources_silent) > 0",
    summary: "A source has gone silent",
    description: "{{ $value }} sources send nothing, and did.",
  },
  HeldBacklog: {
    severity: "ticket",
    for: "1h",
    expr: "max(lead_submissions_held) > 200",
    summary: "Many held submissions wait to be judged",
    description: "{{ $value }} are held as spam; some may be people.",
  },
  PostsInvalid: {
    severity: "ticket",
    for: "10m",
    expr: `sum(increase(lead_refused_total{kind="lead",reason=~"validation_failed|invalid_json"}[30m])) > 50
  and sum(increase(lead_refused_total{kind="lead",reason=~"validation_failed|invalid_json"}[30m]))
    > sum(increase(lead_accepted_total{kind="lead"}[30m]))`,
    summary: "Most leads that are posted are refused for what is in them",
    description: "{{ $value | humanize }} in 30 minutes: a partner's program has probably changed.",
  },
  PostsUnauthorized: {
    severity: "ticket",
    for: "5m",
    expr: 'sum(increase(lead_refused_total{reason=~"unauthorized|401"}[10m])) > 100',
    summary: "Many posts come with a wrong key",
    description:
      "{{ $value | humanize }} in 10 minutes: a partner with a revoked key, or somebody who guesses.",
  },
  LimitsAlone: {
    severity: "ticket",
    for: "5m",
    expr: 'lead_limit_leases{state="alone"} > 0 and on (instance) lead_store_writable == 1',
    summary: "Processes cannot share the limits",
    description:
      "{{ $labels.instance }} gives {{ $value }} keys, customers or addresses an equal share, because the database gives it no other.",
  },
  PostsRateLimited: {
    severity: "ticket",
    for: "10m",
    expr: 'sum(increase(lead_refused_total{reason=~"rate_limited|429"}[30m])) > 300',
    summary: "A partner sends more than it may",
    description: "{{ $value | humanize }} posts in 30 minutes were answered 429.",
  },
} as const satisfies Readonly<Record<string, Alert>>;

/** The name of one of them. */
export type AlertName = keyof typeof alerts;
