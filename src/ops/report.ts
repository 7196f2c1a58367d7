/** `GET /v1/report`: counts of accepted, delivered and refused leads and submissions by tenant, source and day. */

import { flagNames } from "../contract/fields.ts";
import { type Cell, csvText } from "../http/csv.ts";
import type { Handler } from "../http/exchange.ts";
import { InvalidParameter, Parameters, requireTimeRange } from "./parameters.ts";
import { jsonReply, textReply } from "./reply.ts";
import { readReport, type ReportPeriod } from "../store/operator/report.ts";
import {
  invalidFields,
  ofSource,
  refusalText,
  refusedPosts,
  type Report,
  type ReportRow,
  reportRows,
  sumOf,
} from "../store/operator/report_rows.ts";
import { sourceKey, type SourceName } from "../store/operator/sources.ts";
import { readPauses } from "../store/operator/pauses.ts";
import type { Pool } from "../store/pool.ts";

const dayMs = 86_400_000;
const daysDefault = 7;
const daysMax = 92;
const untilMaxMs = Date.UTC(9999, 11, 31);

export interface ReportParts {
  readonly pool: Pool;
  /** Returns the wall-clock time. */
  readonly now: () => Date;
}

/**
 * Chosen: whole UTC days, `since` rounded down and `until` (exclusive) rounded up; by default the last seven days, including
 * today. `format` selects JSON or CSV; without it, `Accept` does.
 */
export function reportHandler({ pool, now }: ReportParts): Handler {
  return async (exchange) => {
    const { query } = exchange;
    const parameters = new Parameters(query, ["since", "until", "tenant", "source", "format"]);
    const format = parameters.oneOf("format", ["json", "csv"]) ?? acceptedFormat(exchange.header("accept"));
    const days = readDays(parameters, now());
    const tenant = parameters.text("tenant");
    const data = await readReport(pool, { ...days, periods: utcDays(days), tenant });
    const report = reportRows({ ...data, sources: ofSource(data.sources, parameters.text("source")) });
    if (format === "csv") return csvReply(report, days);
    const paused = (await readPauses(pool, null)).filter((pause) =>
      tenant === null || pause.tenant === tenant
    )
      .map(({ tenant, scope, since, reason }) => ({ tenant, destination: scope, since, reason }));
    return jsonReply(200, JSON.stringify({ ...days, ...report, paused }));
  };
}

function acceptedFormat(accept: string | undefined): "json" | "csv" {
  const accepted = (accept ?? "").toLowerCase().split(",").map((part) => part.split(";")[0]?.trim());
  return accepted.includes("text/csv") && !accepted.includes("application/json") ? "csv" : "json";
}

interface Days {
  readonly since: string;
  readonly until: string;
}

function readDays(parameters: Parameters, now: Date): Days {
  const [since, until] = [parameters.time("since"), parameters.time("until")];
  requireTimeRange(since, until);
  const endMs = until === null ? dayOf(now.getTime()) + dayMs : dayOf(Date.parse(until) + dayMs - 1);
  const startMs = since === null ? endMs - daysDefault * dayMs : dayOf(Date.parse(since));
  if (startMs >= endMs) throw new InvalidParameter("since", "It must not be in the future");
  // Later years have a sign and more digits in ISO 8601, which the database rejects.
  if (endMs > untilMaxMs) throw new InvalidParameter("until", "It must be before the year 10000");
  if (endMs - startMs > daysMax * dayMs) {
    throw new InvalidParameter(since === null ? "until" : "since", `A report covers at most ${daysMax} days`);
  }
  return { since: new Date(startMs).toISOString(), until: new Date(endMs).toISOString() };
}

function utcDays({ since, until }: Days): ReportPeriod[] {
  const count = (Date.parse(until) - Date.parse(since)) / dayMs;
  return Array.from({ length: count }, (_, index) => {
    const start = new Date(Date.parse(since) + index * dayMs).toISOString();
    return { name: start.slice(0, 10), since: start };
  });
}

const dayOf = (ms: number) => Math.floor(ms / dayMs) * dayMs;

/** The columns between `kind` and `last_accepted_at`. */
const columns: Readonly<Record<string, (row: ReportRow) => Cell>> = {
  accepted: (row) => row.accepted,
  duplicates: (row) => row.duplicates,
  collisions: (row) => row.collisions,
  refused: (row) => sumOf(refusedPosts(row)),
  field_faults: (row) => sumOf(invalidFields(row)),
  refused_by_field_and_reason: ({ refused }) =>
    refused.map((refusal) => `${refusalText(refusal)}: ${refusal.count}`).join("; "),
  ...Object.fromEntries(flagNames.map((flag) => [flag, ({ flags }: ReportRow) => flags[flag] ?? 0])),
  returned: (row) => row.returned,
  spend_cents: (row) => row.spend_cents,
  credit_cents: (row) => row.credit_cents,
  net_cents: (row) => row.net_cents,
  delivered: (row) => row.delivered,
  pending: (row) => row.pending,
  dead: (row) => row.dead,
  held: (row) => row.held,
  held_apart: (row) => row.held_apart,
  median_seconds_to_delivery: ({ seconds_to_delivery: seconds }) => seconds?.median ?? null,
  p95_seconds_to_delivery: ({ seconds_to_delivery: seconds }) => seconds?.p95 ?? null,
  unknown_areas: (row) => row.unknown_areas.map(({ term, count }) => `${term}: ${count}`).join("; "),
};

function csvReply(report: Report, { since, until }: Days) {
  const last = new Date(Date.parse(until) - dayMs).toISOString();
  const name = `report-${since.slice(0, 10)}-${last.slice(0, 10)}.csv`;
  const header = ["day", "tenant", "source", "kind", ...Object.keys(columns), "last_accepted_at", "silent"];
  return textReply(csvText([header, ...csvRows(report)]), {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${name}"`,
  });
}

/** Returns the report's rows, and a row without a day for each silent source that has none. */
function csvRows({ rows, sources }: Report): Cell[][] {
  const sourcesByKey = new Map(sources.map((source) => [sourceKey(source), source]));
  const keysWithRow = new Set(rows.map(sourceKey));
  const csvRow = (day: string, names: SourceName, cells: readonly Cell[]) => {
    const source = sourcesByKey.get(sourceKey(names));
    const sourceCells = [source?.last_accepted_at ?? null, source?.silent ? "silent" : null];
    return [day, names.tenant, names.source, names.kind, ...cells, ...sourceCells];
  };
  const renderers = Object.values(columns);
  return [
    ...rows.map((row) => csvRow(row.day, row, renderers.map((cell) => cell(row)))),
    ...sources.filter((source) => source.silent && !keysWithRow.has(sourceKey(source)))
      .map((source) => csvRow("", source, renderers.map(() => null))),
  ];
}
