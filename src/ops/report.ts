/** `GET /v1/report`: what came in, what became of it and what went wrong, by tenant, source and day. */

import { flagNames } from "../contract/fields.ts";
import type { Handler } from "../http/exchange.ts";
import { InvalidParameter, Parameters, requireSpan } from "./parameters.ts";
import { dataText, jsonText } from "./reply.ts";
import {
  fieldFaults,
  refusalText,
  refusedPosts,
  type Report,
  type ReportRow,
  reportRows,
  type SourceRow,
  sumOf,
} from "./report_rows.ts";
import { readReport } from "../store/operator/report.ts";
import type { Pool } from "../store/pool.ts";

/** What a cell may hold; `null` is an empty cell. */
type Cell = string | number | null;

// What a spreadsheet takes for a formula, full-width characters too, which some make the same of.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
// Behind a semicolon or a tab too: where that parts the list, quotes in the middle of a line are no quotes.
const gap = /[;\t][ \t]*/g;
const formulaSign = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const special = /[",\r\n]/;

/**
 * Rows as text, each ended by CRLF.
 *
 * Chosen: a text that a spreadsheet would take for a formula gets an apostrophe before it, because a source's label or a
 * caller's term may be anybody's text; a number is written as it is.
 */
export function csvText(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = (formula.test(cell) ? `'${cell}` : cell).replaceAll(
    gap,
    (found, at: number, whole: string) =>
      formulaSign.test(whole.charAt(at + found.length)) ? `${found}'` : found,
  );
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const dayMs = 86_400_000;
const daysDefault = 7;
const daysMax = 92;
const yearsEndMs = Date.UTC(9999, 11, 31);

/** What the handler works with. */
export interface ReportParts {
  readonly pool: Pool;
  /** The wall clock. */
  readonly now: () => Date;
}

/**
 * The handler.
 *
 * Chosen: whole days of UTC, `since` rounded down and `until`, which is left out, up; without them the last seven days,
 * today included. `format` decides between JSON and CSV, and without it `Accept: text/csv`.
 */
export function reportHandler({ pool, now }: ReportParts): Handler {
  return async (exchange) => {
    const { query } = exchange;
    const parameters = new Parameters(query, ["since", "until", "tenant", "format"]);
    const format = parameters.word("format", ["json", "csv"]) ?? formatOf(exchange.header("accept"));
    const days = readDays(parameters, now());
    const tenant = parameters.text("tenant");
    const report = reportRows(await readReport(pool, { ...days, tenant }));
    if (format === "csv") return csvReply(report, days);
    return jsonText(200, JSON.stringify({ ...days, ...report }));
  };
}

function formatOf(accept: string | undefined): "json" | "csv" {
  const wanted = (accept ?? "").toLowerCase().split(",").map((part) => part.split(";")[0]?.trim());
  return wanted.includes("text/csv") && !wanted.includes("application/json") ? "csv" : "json";
}

interface Days {
  readonly since: string;
  readonly until: string;
}

function readDays(parameters: Parameters, now: Date): Days {
  const [since, until] = [parameters.time("since"), parameters.time("until")];
  requireSpan(since, until);
  const endMs = until === null ? dayOf(now.getTime()) + dayMs : dayOf(Date.parse(until) + dayMs - 1);
  const startMs = since === null ? endMs - daysDefault * dayMs : dayOf(Date.parse(since));
  if (startMs >= endMs) throw new InvalidParameter("since", "It is in the future");
  // ISO 8601 writes what comes later with a sign and more digits, which is no time to the database.
  if (endMs > yearsEndMs) throw new InvalidParameter("until", "It is before the year 10000");
  if (endMs - startMs > daysMax * dayMs) {
    throw new InvalidParameter(since === null ? "until" : "since", `A report has ${daysMax} days at most`);
  }
  return { since: new Date(startMs).toISOString(), until: new Date(endMs).toISOString() };
}

const dayOf = (ms: number) => Math.floor(ms / dayMs) * dayMs;

type Names = Pick<SourceRow, "tenant" | "source" | "kind">;

/** The columns; a source without a row of its own has only its names, and the last two. */
const columns: Readonly<Record<string, (row: ReportRow) => Cell>> = {
  accepted: (row) => row.accepted,
  duplicates: (row) => row.duplicates,
  collisions: (row) => row.collisions,
  refused: (row) => sumOf(refusedPosts(row)),
  field_faults: (row) => sumOf(fieldFaults(row)),
  refused_by_field_and_reason: ({ refused }) =>
    refused.map((one) => `${refusalText(one)}: ${one.count}`).join("; "),
  ...Object.fromEntries(flagNames.map((flag) => [flag, ({ flags }: ReportRow) => flags[flag] ?? 0])),
  spend_cents: (row) => row.spend_cents,
  delivered: (row) => row.delivered,
  pending: (row) => row.pending,
  dead: (row) => row.dead,
  held: (row) => row.held,
  median_seconds_to_delivery: ({ seconds_to_delivery: seconds }) => seconds?.median ?? null,
  p95_seconds_to_delivery: ({ seconds_to_delivery: seconds }) => seconds?.p95 ?? null,
  unknown_areas: (row) => row.unknown_areas.map(({ term, count }) => `${term}: ${count}`).join("; "),
};

function csvReply(report: Report, { since, until }: Days) {
  const last = new Date(Date.parse(until) - dayMs).toISOString();
  const name = `report-${since.slice(0, 10)}-${last.slice(0, 10)}.csv`;
  const header = ["day", "tenant", "source", "kind", ...Object.keys(columns), "last_accepted_at", "silent"];
  return dataText(csvText([header, ...csvRows(report)]), {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${name}"`,
  });
}

/** The rows; a silent source without one has a row without a day. */
function csvRows({ rows, sources }: Report): Cell[][] {
  const nameOf = ({ tenant, source, kind }: Names) => JSON.stringify([tenant, source, kind]);
  const byName = new Map(sources.map((source) => [nameOf(source), source]));
  const withRow = new Set(rows.map(nameOf));
  const line = (day: string, names: Names, cells: readonly Cell[]) => {
    const source = byName.get(nameOf(names));
    const standing = [source?.last_accepted_at ?? null, source?.silent ? "silent" : null];
    return [day, names.tenant, names.source, names.kind, ...cells, ...standing];
  };
  const fill = Object.values(columns);
  return [
    ...rows.map((row) => line(row.day, row, fill.map((cell) => cell(row)))),
    ...sources.filter((source) => source.silent && !withRow.has(nameOf(source)))
      .map((source) => line("", source, fill.map(() => null))),
  ];
}
