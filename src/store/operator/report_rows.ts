/**
 * Builds the report's rows from the store's counts by period and key, without I/O. Keys with the same label are one source, so
 * rotating a key does not change the report.
 */

import type { PeriodFigures, ReportData } from "./report.ts";
import { byName, compare, type ReportSource, sourceKey, type SourceRow, sourceRows } from "./sources.ts";

/** The figures for a source in a day or a longer period. */
export interface ReportRow {
  readonly tenant: string;
  readonly source: string;
  readonly kind: "lead" | "form";
  /** The period's name, such as the day `2026-11-20`. */
  readonly day: string;
  accepted: number;
  duplicates: number;
  collisions: number;
  /** Refused posts by error code (`field` is `""`), and invalid fields by field and reason. */
  readonly refused: { field: string; reason: string; count: number }[];
  readonly flags: Record<string, number>;
  /** Leads that the customer returned. */
  returned: number;
  /** The cost of all accepted leads, the part that was credited for returned ones, and the difference. */
  spend_cents: number;
  credit_cents: number;
  net_cents: number;
  delivered: number;
  pending: number;
  dead: number;
  /** Held submissions to review; `held_apart` counts honeypot hits and dismissed ones. */
  held: number;
  held_apart: number;
  /** The time from acceptance to delivery, accurate to 2.5%; `null` if nothing was delivered. */
  seconds_to_delivery: { readonly median: number; readonly p95: number } | null;
  readonly unknown_areas: { term: string; count: number }[];
}

type Refused = Pick<ReportRow, "refused">;

/** Returns the counts of refused posts by error code. */
export const refusedPosts = ({ refused }: Refused) => refused.filter(({ field }) => field === "");

/** Returns the counts of invalid fields; a refused post may have several. */
export const invalidFields = ({ refused }: Refused) => refused.filter(({ field }) => field !== "");

export function sumOf(refusals: ReportRow["refused"]): number {
  return refusals.reduce((sum, { count }) => sum + count, 0);
}

/** Formats a refusal as a field and its reason, or as the error code. */
export function refusalText({ field, reason }: ReportRow["refused"][number]): string {
  return field === "" ? reason : `${field} ${reason}`;
}

export interface Report {
  readonly rows: readonly ReportRow[];
  readonly sources: readonly SourceRow[];
}

/**
 * Builds a report, newest period first, then by tenant and source. Periods for which `nameOf` returns the same name share a
 * row.
 */
export function reportRows(
  data: ReportData,
  nameOf: (period: string) => string = (period) => period,
): Report {
  const sources = new Map(data.sources.map((source) => [source.keyId, source]));
  const rows = new Map<string, { row: ReportRow; seconds: Map<number, number> }>();
  const entryFor = ({ keyId, period }: { readonly keyId: number; readonly period: string }) => {
    const name = nameOf(period);
    const source = sources.get(keyId);
    // The report does not include the key.
    if (source === undefined) return null;
    const id = JSON.stringify([name, sourceKey(source)]);
    const entry = rows.get(id) ?? { row: emptyRow(source, name), seconds: new Map<number, number>() };
    rows.set(id, entry);
    return entry;
  };
  for (const figures of data.figures) {
    const entry = entryFor(figures);
    if (entry !== null) addFigures(entry, figures);
  }
  for (const { name, field, reason, count, ...place } of data.counts) {
    const row = entryFor(place)?.row;
    if (row === undefined) continue;
    if (name === "refused") {
      const isSame = (known: ReportRow["refused"][number]) =>
        known.field === field && known.reason === reason;
      addCount(row.refused, { field, reason, count }, isSame);
    } else row[name] += count;
  }
  for (const { term, count, ...place } of data.unknownAreas) {
    addCount(entryFor(place)?.row.unknown_areas, { term, count }, (known) => known.term === term);
  }
  return {
    rows: [...rows.values()]
      .map(({ row, seconds }) => ({
        ...row,
        net_cents: row.spend_cents - row.credit_cents,
        seconds_to_delivery: percentiles(seconds),
      }))
      .sort((a, b) => compare(b.day, a.day) || byName(a, b)),
    sources: sourceRows(data),
  };
}

const summedColumns = [
  "accepted",
  "delivered",
  "pending",
  "dead",
  "held",
  "held_apart",
  "duplicates",
  "collisions",
  "returned",
  "spend_cents",
  "credit_cents",
  "net_cents",
] as const satisfies readonly (keyof ReportRow)[];

/** The figures of several rows together. */
export type Figures = Readonly<Record<typeof summedColumns[number], number>> & Pick<ReportRow, "refused">;

export function sumRows(rows: readonly ReportRow[]): Figures {
  const reasons = Map.groupBy(rows.flatMap(({ refused }) => refused), refusalText);
  return {
    ...Object.fromEntries(
      summedColumns.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
    ) as Record<typeof summedColumns[number], number>,
    refused: [...reasons.values()].map((same) => ({
      ...(same[0] as ReportRow["refused"][number]),
      count: sumOf(same),
    })),
  };
}

/** Returns the sources with a label, or all if it is `null`. A report of only these has only their rows. */
export function ofSource(sources: ReportData["sources"], label: string | null): ReportData["sources"] {
  return label === null ? sources : sources.filter(({ source }) => source === label);
}

function emptyRow({ tenant, source, kind }: ReportSource, day: string): ReportRow {
  return {
    tenant,
    source,
    kind,
    day,
    accepted: 0,
    duplicates: 0,
    collisions: 0,
    refused: [],
    flags: {},
    returned: 0,
    spend_cents: 0,
    credit_cents: 0,
    net_cents: 0,
    delivered: 0,
    pending: 0,
    dead: 0,
    held: 0,
    held_apart: 0,
    seconds_to_delivery: null,
    unknown_areas: [],
  };
}

function addCount<T extends { count: number }>(
  list: T[] | undefined,
  item: T,
  isSame: (existing: T) => boolean,
): void {
  const existing = list?.find(isSame);
  if (existing === undefined) list?.push(item);
  else existing.count += item.count;
}

function addFigures(
  { row, seconds }: { readonly row: ReportRow; readonly seconds: Map<number, number> },
  figures: PeriodFigures,
): void {
  row.spend_cents += figures.spendCents;
  row.held_apart += figures.heldApart;
  for (const name of ["accepted", "delivered", "pending", "dead", "held"] as const) {
    row[name] += figures[name];
  }
  for (const [flag, count] of Object.entries(figures.flags)) row.flags[flag] = (row.flags[flag] ?? 0) + count;
  for (const [bucket, count] of Object.entries(figures.seconds)) {
    seconds.set(Number(bucket), (seconds.get(Number(bucket)) ?? 0) + count);
  }
}

/** Returns the median and 95th percentile by nearest rank, from counts by bucket (see the SQL function hour_figures). */
export function percentiles(seconds: ReadonlyMap<number, number>): ReportRow["seconds_to_delivery"] {
  const buckets = [...seconds].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const percentile = (quantile: number) => {
    let remaining = Math.ceil(total * quantile);
    const [bucket] = buckets.find(([, count]) => (remaining -= count) <= 0) as [number, number];
    // The middle of the bucket, rounded to milliseconds.
    return Math.round(1.05 ** (bucket - 0.5)) / 1_000;
  };
  return { median: percentile(0.5), p95: percentile(0.95) };
}
