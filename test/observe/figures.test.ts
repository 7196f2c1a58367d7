import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, type Figure, figuresText, together } from "../../src/observe/figures.ts";
import { described } from "../../src/observe/metrics.ts";
import { Registry } from "../../src/observe/registry.ts";

/** The figures of a process that has done some work, as another process receives them. */
function figuresOf({ accepted, lags, openFiles, writable, answeredS }: {
  readonly accepted: Readonly<Record<string, number>>;
  readonly lags: readonly number[];
  readonly openFiles: number;
  readonly writable: number;
  readonly answeredS: number;
}): Figure[] {
  const registry = new Registry();
  const counter = registry.counter(described("lead_accepted_total"));
  for (const [kind, count] of Object.entries(accepted)) counter.add(count, { kind });
  const histogram = registry.histogram(described("process_event_loop_lag_seconds"), [0.1, 1]);
  for (const lag of lags) histogram.observe(lag);
  registry.gauge(described("process_open_fds"), () => openFiles);
  registry.gauge(described("lead_store_writable"), () => writable);
  registry.gauge(described("lead_outbox_pending"), () => 7);
  registry.gauge(described("lead_tier_last_answer_age_seconds"), () => answeredS);
  return JSON.parse(JSON.stringify(registry.figures()));
}

const one = figuresOf({
  accepted: { lead: 3 },
  lags: [0.05, 5],
  openFiles: 10,
  writable: 1,
  answeredS: Infinity,
});
const other = figuresOf({
  accepted: { lead: 4, form: 1 },
  lags: [0.5],
  openFiles: 20,
  writable: 0,
  answeredS: 2,
});

/** The samples alone. */
const samples = (figures: readonly Figure[]) =>
  figuresText(figures).split("\n").filter((line) => /^[a-z]/.test(line));

test("counts and what each process has of its own are summed; of what all look at there is one, and of doubts the worst", () => {
  assert.deepEqual(samples(together([one, other])), [
    'lead_accepted_total{kind="lead"} 7',
    'lead_accepted_total{kind="form"} 1',
    'process_event_loop_lag_seconds_bucket{le="0.1"} 1',
    'process_event_loop_lag_seconds_bucket{le="1"} 2',
    'process_event_loop_lag_seconds_bucket{le="+Inf"} 3',
    "process_event_loop_lag_seconds_sum 5.55",
    "process_event_loop_lag_seconds_count 3",
    "process_open_fds 30",
    "lead_store_writable 0",
    "lead_outbox_pending 7",
    "lead_tier_last_answer_age_seconds 2",
  ]);
});

test("the figures of one process are what it says itself", () => {
  assert.deepEqual(together([one]), together([together([one])]));
  assert.ok(samples(together([one])).includes("lead_tier_last_answer_age_seconds +Inf"));
});

test("of a process that has ended the counts stay, and nothing else", () => {
  const kept = together([other, counted(one)]);
  assert.ok(samples(kept).includes('lead_accepted_total{kind="lead"} 7'));
  assert.ok(samples(kept).includes("process_open_fds 20"));
});
