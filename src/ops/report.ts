/** `GET /v1/report`: counts of accepted, delivered and refused leads and submissions by tenant, source and day. */

import { flagNames } from "../contract/fields.ts";
import type { Handler } from "../http/exchange.ts";
import { InvalidParameter, Parameters, requireTimeRange } from "./parameters.ts";
import { jsonReply, textReply } from "./reply.ts";
import {
  invalidFields,
  refusalText,
  refusedPosts,
  type Report,
  type ReportRow,
  reportRows,
  sourceKey,
  type SourceName,
  sumOf,
} from "./report_rows.ts";
import { readReport } from "../store/operator/report.ts";
import type { Pool } from "../store/pool.ts";

/** The value of a cell; `null` for an empty cell. */
type Cell = string | number | null;

// The characters with which a spreadsheet formula can start, including the full-width ones.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
// In some locales, spreadsheets split cells at semicolons or tabs, and ignore quotes in the middle of a line.
const cellSeparator = /[;\t][ \t]*/g;
const formulaSign = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const needsQuotes = /[",\r\n]/;

/**
 * Renders rows as CSV, with CRLF after each row.
 *
 * Chosen: an apostrophe before text that a spreadsheet would interpret as a formula, because labels and terms are untrusted;
 * numbers are written unchanged.
 */
export function csvText(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = (formula.test(cell) ? `'${cell}` : cell).replaceAll(
    cellSeparator,
    (match, offset: number, source: string) =>
      formulaSign.test(source.charAt(offset + match.length)) ? `${match}'` : match,
  );
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

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
    const parameters = new Parameters(query, ["since", "until", "tenant", "format"]);
    const format = parameters.oneOf("format", ["json", "csv"]) ?? acceptedFormat(exchange.header("accept"));
    const days = readDays(parameters, now());
    const tenant = parameters.text("tenant");
    const report = reportRows(await readReport(pool, { ...days, tenant }));
    if (format === "csv") return csvReply(report, days);
    return jsonReply(200, JSON.stringify({ ...days, ...report }));
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
  spend_cents: (row) => row.spend_cents,
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
