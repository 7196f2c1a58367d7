/**
 * What makes each alert fire, and what just does not, as series of samples: the first at time 0, one a minute or an hour.
 * `0+5x30` is 0, 5, 10 … 150, and `7x30` is 7, thirty-one times.
 *
 * @module
 */

import type { AlertName } from "../../../scripts/monitoring/alerts.ts";

type Series = Readonly<Record<string, string>>;

/** Between samples, and between the looks of the rules. */
export type Interval = "1m" | "1h";

/** One alert's cases. */
export interface Case {
  /** Each makes it fire by `at`. */
  readonly fires: readonly Series[];
  readonly at: string;
  /** When it is so already, and not for long enough; `null`: it needs not last. */
  readonly early: string | null;
  /** Each is just not enough, at `at`. */
  readonly quiet: readonly Series[];
  /** Left out: a minute. */
  readonly interval?: Interval;
}

const refused = (reason: string, kind = "lead") => `lead_refused_total{kind="${kind}",reason="${reason}"}`;
const attempts = (outcome: string) => `lead_delivery_attempts_total{outcome="${outcome}"}`;
const effects = (outcome: string) => `lead_effects_total{kind="email",outcome="${outcome}"}`;
const accepted = 'lead_accepted_total{kind="lead"}';
const duplicates = 'lead_duplicates_total{kind="lead"}';
const one = 'instance="a"';

/** A histogram of which so many of a thousand a minute are at most as large as the bucket. */
const histogram = (name: string, labels: string, buckets: Readonly<Record<string, number>>): Series =>
  Object.fromEntries(
    Object.entries(buckets).map(([le, count]) => [`${name}_bucket{${labels}le="${le}"}`, `0+${count}x30`]),
  );

const posts = 'instance="a",route="/v1/intake",method="POST",';
const answered = (count: number) =>
  histogram("http_request_duration_seconds", posts, { "2.5": count, "5": 1_000, "+Inf": 1_000 });
const late = (count: number) =>
  histogram("process_event_loop_lag_seconds", `${one},`, { "0.5": count, "1": 1_000, "+Inf": 1_000 });

/** A gauge at a value, and just not. */
function gauge(
  name: string,
  [value, less]: readonly [string, string],
  times: Pick<Case, "at" | "early">,
): Case {
  return { fires: [{ [name]: `${value}x90` }], quiet: [{ [name]: `${less}x90` }], ...times };
}

const share = (part: string, whole: string, [value, less]: readonly [number, number]) => ({
  fires: [{ [part]: `${value}x90`, [whole]: "100x90" }],
  quiet: [{ [part]: `${less}x90`, [whole]: "100x90" }],
});

const disk = { free: "lead_database_disk_available_bytes", size: "lead_database_disk_size_bytes" };

/** By alert. */
export const cases: Readonly<Record<AlertName, Case>> = {
  IntakeDown: {
    fires: [{ 'up{job="lead-intake",instance="a"}': "0x10" }, {
      'up{job="lead-public",instance="b"}': "1x10",
    }],
    ...{ at: "3m", early: "1m" },
    quiet: [{ 'up{job="lead-intake",instance="a"}': "0x10", 'up{job="lead-intake",instance="b"}': "1x10" }],
  },
  StoreNotWritable: gauge("lead_store_writable", ["0", "1"], { at: "2m", early: "0m" }),
  PostsFail: {
    fires: [
      { [refused("not_accepting")]: "0+10x70", [accepted]: "0+500x70", [duplicates]: "0+100x70" },
      { [refused("503", "form")]: "0+10x70", [accepted]: "0+500x70", [duplicates]: "0+100x70" },
    ],
    ...{ at: "65m", early: "2m" },
    quiet: [
      { [refused("not_accepting")]: "0+8x70", [accepted]: "0+500x70", [duplicates]: "0+100x70" },
      // Over for five minutes, within the hour.
      { [refused("not_accepting")]: "0+10x55 560x15", [accepted]: "0+500x70", [duplicates]: "0+100x70" },
    ],
  },
  PostsFailSlowly: {
    fires: [{ [refused("not_accepting")]: "0+5x60", [accepted]: "0+600x60", [duplicates]: "0x60" }],
    ...{ at: "40m", early: "10m" },
    quiet: [{ [refused("not_accepting")]: "0+3x60", [accepted]: "0+600x60", [duplicates]: "0x60" }],
  },
  RestartLoop: {
    fires: [{ 'process_start_time_seconds{instance="a"}': "1 2 3 4 5x10" }],
    ...{ at: "6m", early: "4m" },
    quiet: [{ 'process_start_time_seconds{instance="a"}': "1 2 3 4x10" }],
  },
  ProcessFailed: {
    fires: [{
      [`lead_last_failure{${one},result="watchdog"}`]: "_x20 1x90",
      [`process_start_time_seconds{${one}}`]: "0x20 1200x90",
    }],
    ...{ at: "25m", early: null },
    quiet: [
      // An hour ago.
      {
        [`lead_last_failure{${one},result="watchdog"}`]: "1x90",
        [`process_start_time_seconds{${one}}`]: "-3600x90",
      },
      // Another one's.
      {
        [`lead_last_failure{${one},result="watchdog"}`]: "1x90",
        'process_start_time_seconds{instance="b"}': "0x90",
      },
    ],
  },
  DeliveryStuck: gauge("lead_outbox_overdue_seconds", ["301", "300"], { at: "6m", early: "4m" }),
  ActionsTierAway: gauge("lead_tier_away_seconds", ["121", "120"], { at: "2m", early: "0m" }),
  NothingDelivered: {
    fires: [{ [attempts("refused")]: "0+2x30", [attempts("delivered")]: "5x30" }],
    ...{ at: "20m", early: "13m" },
    quiet: [
      { [attempts("refused")]: "0+2x30", [attempts("delivered")]: "5x15 6x15" },
      { [attempts("refused")]: "0+1x30", [attempts("delivered")]: "5x30" },
    ],
  },
  DestinationsFail: {
    fires: [{ [effects("timeout")]: "0+2x30", [effects("done")]: "5x30" }],
    ...{ at: "20m", early: "13m" },
    quiet: [
      { [effects("timeout")]: "0+2x30", [effects("done")]: "5x15 6x15" },
      { [effects("timeout")]: "0+1x30", [effects("done")]: "5x30" },
    ],
  },
  CertificateEnds: gauge(`lead_certificate_expiry_timestamp_seconds{${one}}`, ["172800", "173400"], {
    ...{ at: "7m", early: "4m" },
  }),
  DatabaseDiskFull: {
    fires: [{ [disk.free]: "4x20", [disk.size]: "100x20" }, {
      [disk.free]: "35-0.2x20",
      [disk.size]: "100x20",
    }],
    ...{ at: "8m", early: "4m" },
    quiet: [{ [disk.free]: "6x20", [disk.size]: "100x20" }, {
      [disk.free]: "35-0.1x20",
      [disk.size]: "100x20",
    }],
  },
  DatabaseDiskFills: { ...share(disk.free, disk.size, [19, 20]), at: "31m", early: "29m" },
  DatabaseGrows: {
    fires: [{ lead_database_size_bytes: "2e9x168 3.1e9x9" }],
    ...{ at: "172h", early: "169h", interval: "1h" },
    quiet: [{ lead_database_size_bytes: "2e9x168 2.9e9x9" }, { lead_database_size_bytes: "2e8x168 9e8x9" }],
  },
  DatabaseConnectionsRunOut: {
    ...share("lead_database_connections", "lead_database_connections_max", [86, 85]),
    ...{ at: "11m", early: "9m" },
  },
  PrimaryChanges: {
    fires: [{ lead_database_timeline: "3x20 4x5 5x5 6x5" }],
    ...{ at: "33m", early: null },
    quiet: [{ lead_database_timeline: "3x20 4x5 5x60" }],
  },
  FailedOver: {
    fires: [{
      'lead_database_timeline{instance="a"}': "3x90",
      'lead_database_timeline{instance="b"}': "3x20 4x70",
    }],
    ...{ at: "22m", early: null },
    quiet: [{ lead_database_timeline: "3x90" }, { lead_database_timeline: "_x20 3x70" }],
  },
  StandbyLost: {
    fires: [{ lead_database_standbys: "2x10 1x20" }],
    ...{ at: "17m", early: "14m" },
    quiet: [{ lead_database_standbys: "1x30" }],
  },
  StandbyBehind: gauge("lead_database_replay_lag_bytes", ["268435457", "268435456"], {
    ...{ at: "11m", early: "9m" },
  }),
  CommitWarning: {
    fires: [{ [`lead_commit_warnings_total{${one}}`]: "0x5 1x20" }],
    ...{ at: "10m", early: null },
    quiet: [{ [`lead_commit_warnings_total{${one}}`]: "3x25" }],
  },
  ArchiveFails: {
    fires: [{
      ...{ lead_database_archive_failed_timestamp_seconds: "101x30" },
      ...{ lead_database_archived_timestamp_seconds: "100x30" },
    }],
    ...{ at: "16m", early: "14m" },
    quiet: [{
      ...{ lead_database_archive_failed_timestamp_seconds: "100x30" },
      ...{ lead_database_archived_timestamp_seconds: "100x30" },
    }],
  },
  ArchiveStale: {
    fires: [{ lead_database_archived_timestamp_seconds: "0x40" }],
    ...{ at: "28h", early: "27h", interval: "1h" },
    quiet: [{ lead_database_archived_timestamp_seconds: "7200x40" }],
  },
  BackupStale: {
    fires: [{ 'lead_backup_timestamp_seconds{what="backup"}': "0x40" }],
    ...{ at: "28h", early: "27h", interval: "1h" },
    quiet: [
      { 'lead_backup_timestamp_seconds{what="backup"}': "7200x40" },
      { 'lead_backup_timestamp_seconds{what="check"}': "0x40" },
    ],
  },
  BackupUnchecked: {
    fires: [{ 'lead_backup_timestamp_seconds{what="check"}': "0x780" }],
    ...{ at: "770h", early: "769h", interval: "1h" },
    quiet: [{ 'lead_backup_timestamp_seconds{what="check"}': "7200x780" }],
  },
  ClockSkew: {
    fires: [{ lead_database_clock_offset_seconds: "2.1x20" }, {
      lead_database_clock_offset_seconds: "-2.1x20",
    }],
    ...{ at: "6m", early: "4m" },
    quiet: [{ lead_database_clock_offset_seconds: "2x20" }, { lead_database_clock_offset_seconds: "-2x20" }],
  },
  InstanceDown: gauge('up{job="lead-public",instance="a"}', ["0", "1"], { at: "6m", early: "4m" }),
  FiguresMissing: {
    fires: [{ [`lead_store_writable{${one}}`]: "1x30", 'lead_database_size_bytes{instance="b"}': "1x30" }],
    ...{ at: "16m", early: "14m" },
    quiet: [
      { [`lead_store_writable{${one}}`]: "1x30", [`lead_database_size_bytes{${one}}`]: "1x30" },
      { [`lead_store_writable{${one}}`]: "0x30" },
    ],
  },
  VersionsDiffer: {
    fires: [{
      'lead_build_info{version="1",instance="a"}': "1x90",
      'lead_build_info{version="2",instance="b"}': "1x90",
    }],
    ...{ at: "61m", early: "59m" },
    quiet: [{
      'lead_build_info{version="1",instance="a"}': "1x90",
      'lead_build_info{version="1",instance="b"}': "1x90",
    }],
  },
  PostsSlow: { fires: [answered(985)], quiet: [answered(992)], at: "15m", early: "9m" },
  EventLoopLate: { fires: [late(985)], quiet: [late(992)], at: "15m", early: "9m" },
  MemoryNearLimit: {
    fires: [
      { process_resident_memory_bytes: "91x20", process_memory_limit_bytes: "100x20" },
      { process_heap_bytes: "86x20", process_heap_limit_bytes: "100x20" },
    ],
    ...{ at: "11m", early: "9m" },
    quiet: [
      { process_resident_memory_bytes: "90x20", process_memory_limit_bytes: "100x20" },
      { process_heap_bytes: "85x20", process_heap_limit_bytes: "100x20" },
      // No limit that is known.
      { process_resident_memory_bytes: "91x20" },
    ],
  },
  FilesRunOut: { ...share("process_open_fds", "process_max_fds", [81, 80]), at: "6m", early: "4m" },
  Faults: {
    fires: [{ [`lead_faults_total{${one}}`]: "0x5 1x20" }],
    ...{ at: "10m", early: null },
    quiet: [{ [`lead_faults_total{${one}}`]: "3x25" }],
  },
  TaskFails: {
    fires: [{ [`lead_job_failures_total{${one},task="upkeep_failed"}`]: "0+1x30" }],
    ...{ at: "20m", early: "10m" },
    quiet: [
      { [`lead_job_failures_total{${one},task="upkeep_failed"}`]: "0x5 4x25" },
      {
        [`lead_job_failures_total{${one},task="upkeep_failed"}`]: "0+1x30",
        [`lead_store_writable{${one}}`]: "1x5 0x3 1x22",
      },
    ],
  },
  CertificateEndsSoon: gauge(`lead_certificate_expiry_timestamp_seconds{${one}}`, ["1814400", "1818400"], {
    ...{ at: "65m", early: "59m" },
  }),
  CertificateRefused: gauge("lead_certificate_refused", ["1", "0"], { at: "16m", early: "14m" }),
  BreakerOpen: {
    fires: [{ 'lead_delivery_breaker_state{state="open"}': "1x20" }],
    ...{ at: "6m", early: "4m" },
    quiet: [
      { 'lead_delivery_breaker_state{state="open"}': "0 0 0 0 1 0 0 0 0 1" },
      { 'lead_delivery_breaker_state{state="half_open"}': "1x20" },
    ],
  },
  OldestLeadWaits: gauge("lead_outbox_oldest_pending_age_seconds", ["3601", "3600"], {
    at: "6m",
    early: "4m",
  }),
  TenantWithoutRoute: gauge("lead_outbox_unrouted_tenants", ["1", "0"], { at: "11m", early: "9m" }),
  DeadLetters: gauge("lead_outbox_dead", ["1", "0"], { at: "2m", early: "0m" }),
  DigestsFail: {
    fires: [{ 'lead_digests_total{outcome="failed"}': "0x5 3x20" }],
    ...{ at: "10m", early: null },
    quiet: [{ 'lead_digests_total{outcome="failed"}': "0x5 2x20" }, {
      'lead_digests_total{outcome="sent"}': "0x5 3x20",
    }],
  },
  CollisionsOpen: gauge("lead_collisions_open", ["1", "0"], { at: "11m", early: "9m" }),
  SourceSilent: gauge("lead_sources_silent", ["1", "0"], { at: "11m", early: "9m" }),
  HeldBacklog: gauge("lead_submissions_held", ["201", "200"], { at: "61m", early: "59m" }),
  PostsInvalid: {
    fires: [
      { [refused("validation_failed")]: "0+5x60", [accepted]: "0+4x60" },
      { [refused("invalid_json")]: "0+5x60", [accepted]: "0+4x60" },
    ],
    ...{ at: "45m", early: "15m" },
    quiet: [
      { [refused("validation_failed")]: "0+5x60", [accepted]: "0+5x60" },
      { [refused("validation_failed")]: "0+1x60", [accepted]: "0x60" },
      { [refused("validation_failed", "form")]: "0+5x60", [accepted]: "0+4x60" },
    ],
  },
  PostsUnauthorized: {
    fires: [{ [refused("unauthorized")]: "0+11x30" }, { [refused("401", "form")]: "0+11x30" }],
    ...{ at: "20m", early: "12m" },
    quiet: [{ [refused("unauthorized")]: "0+10x30" }, { [refused("validation_failed")]: "0+11x30" }],
  },
  LimitsAlone: {
    fires: [{ [`lead_limit_leases{${one},state="alone"}`]: "1x10", [`lead_store_writable{${one}}`]: "1x10" }],
    ...{ at: "6m", early: "4m" },
    quiet: [
      { [`lead_limit_leases{${one},state="alone"}`]: "0x10", [`lead_store_writable{${one}}`]: "1x10" },
      // StoreNotWritable tells of it.
      { [`lead_limit_leases{${one},state="alone"}`]: "1x10", [`lead_store_writable{${one}}`]: "0x10" },
      { [`lead_limit_leases{${one},state="leased"}`]: "1x10", [`lead_store_writable{${one}}`]: "1x10" },
    ],
  },
  PostsRateLimited: {
    fires: [{ [refused("rate_limited")]: "0+11x60" }, { [refused("429", "form")]: "0+11x60" }],
    ...{ at: "45m", early: "33m" },
    quiet: [{ [refused("rate_limited")]: "0+10x60" }],
  },
};

/**
 * The files for `promtool test rules` with the cases of this interval, by name: the rules of one alert, and its cases as
 * JSON, which is YAML too. One alert at a time, because promtool looks at every rule at every moment of every case.
 */
export function promtoolTests(rules: string, interval: Interval): Record<string, string> {
  const [head = "", ...blocks] = rules.split(/^(?= {6}- alert: )/m);
  const ours = Object.entries(cases).filter(([, each]) => (each.interval ?? "1m") === interval);
  return Object.fromEntries(ours.flatMap(([alert, one]) => {
    const block = blocks.find((text) => text.includes(`- alert: ${alert}\n`)) ?? "";
    const file = { rule_files: [`${alert}.yml`], evaluation_interval: interval, tests: groupsOf(alert, one) };
    return [[`${alert}.yml`, head + block], [`${alert}.json`, JSON.stringify(file)]];
  }));
}

function groupsOf(alert: string, { fires, quiet, at, early, interval = "1m" }: Case): readonly object[] {
  const counted = (state: "firing" | "pending", time: string, isThere: boolean) => ({
    expr: `clamp_max(count(ALERTS{alertname="${alert}",alertstate="${state}"}), 1)`,
    eval_time: time,
    exp_samples: isThere ? [{ labels: "{}", value: 1 }] : [],
  });
  const group = (series: Series, name: string, promql_expr_test: readonly object[]) => ({
    name: `${alert} ${name}`,
    interval,
    input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
    promql_expr_test,
  });
  return [
    ...fires.map((series, index) =>
      group(series, `fires (${index})`, [
        counted("firing", at, true),
        ...(early === null ? [] : [counted("firing", early, false), counted("pending", early, true)]),
      ])
    ),
    ...quiet.map((series, index) => group(series, `is quiet (${index})`, [counted("firing", at, false)])),
  ];
}
