/**
 * The report's rows, from what the store has counted by day and key: keys of one label are one source, and a rotation
 * of its key changes nothing. Pure.
 */

import type { DayFigures, ReportData, ReportSource } from "../store/operator/report.ts";

/** A source's day. */
export interface ReportRow {
  readonly tenant: string;
  readonly source: string;
  readonly kind: "lead" | "form";
  /** `2026-11-20`, UTC. */
  readonly day: string;
  accepted: number;
  duplicates: number;
  collisions: number;
  /** Posts by their code, where `field` is `""`, and beside them the faulty fields by field and reason. */
  readonly refused: { field: string; reason: string; count: number }[];
  readonly flags: Record<string, number>;
  spend_cents: number;
  delivered: number;
  pending: number;
  dead: number;
  held: number;
  /** From acceptance to delivery, exact to 2.5 %; `null` when nothing was delivered. */
  seconds_to_delivery: { readonly median: number; readonly p95: number } | null;
  readonly unknown_areas: { term: string; count: number }[];
}

type Refused = Pick<ReportRow, "refused">;

/** The refused posts, by their code. */
export const refusedPosts = ({ refused }: Refused) => refused.filter(({ field }) => field === "");

/** The faulty fields, of which a refused post may have several. */
export const fieldFaults = ({ refused }: Refused) => refused.filter(({ field }) => field !== "");

/** How many these are. */
export function sumOf(counted: ReportRow["refused"]): number {
  return counted.reduce((sum, { count }) => sum + count, 0);
}

/** What was refused, in words: the field and the reason, or the reason alone where it concerns none. */
export function refusalText({ field, reason }: ReportRow["refused"][number]): string {
  return field === "" ? reason : `${field} ${reason}`;
}

/** A source, and whether it has gone silent. */
export interface SourceRow {
  readonly tenant: string;
  readonly source: string;
  readonly kind: "lead" | "form";
  readonly last_accepted_at: string | null;
  /** From how long a silence on it counts as one; `null` for a source that is not watched. */
  readonly silent_after_hours: number | null;
  readonly silent: boolean;
}

/** The report's rows, and its sources. */
export interface Report {
  readonly rows: readonly ReportRow[];
  readonly sources: readonly SourceRow[];
}

/**
 * Puts a report together: days from new to old, tenants and sources in the order of the alphabet. `periodOf` puts days
 * that it gives one name into one row.
 */
export function reportRows(data: ReportData, periodOf: (day: string) => string = (day) => day): Report {
  const sources = new Map(data.sources.map((source) => [source.keyId, source]));
  const rows = new Map<string, { row: ReportRow; seconds: Map<number, number> }>();
  const of = ({ keyId, day: each }: { readonly keyId: number; readonly day: string }) => {
    const day = periodOf(each);
    const source = sources.get(keyId);
    // A key of another tenant than was asked for.
    if (source === undefined) return null;
    const id = JSON.stringify([day, nameOf(source)]);
    const known = rows.get(id) ?? { row: emptyRow(source, day), seconds: new Map<number, number>() };
    rows.set(id, known);
    return known;
  };
  for (const figures of data.figures) {
    const found = of(figures);
    if (found !== null) addFigures(found, figures);
  }
  for (const name of ["duplicates", "collisions"] as const) {
    for (const one of data[name]) {
      const row = of(one)?.row;
      if (row !== undefined) row[name] += one.count;
    }
  }
  for (const { field, reason, count, ...one } of data.refusals) {
    const isSame = (known: ReportRow["refused"][number]) => known.field === field && known.reason === reason;
    addCount(of(one)?.row.refused, { field, reason, count }, isSame);
  }
  for (const { term, count, ...one } of data.unknownAreas) {
    addCount(of(one)?.row.unknown_areas, { term, count }, (known) => known.term === term);
  }
  return {
    rows: [...rows.values()]
      .map(({ row, seconds }) => ({ ...row, seconds_to_delivery: percentiles(seconds) }))
      .sort((a, b) => compare(b.day, a.day) || byName(a, b)),
    sources: sourceRows(data),
  };
}

type Named = Pick<ReportSource, "tenant" | "source" | "kind">;

const nameOf = ({ tenant, source, kind }: Named) => JSON.stringify([tenant, source, kind]);

const compare = (one: string, other: string) => one < other ? -1 : one > other ? 1 : 0;

const byName = (a: Named, b: Named) =>
  compare(a.tenant, b.tenant) || compare(a.source, b.source) || compare(a.kind, b.kind);

function emptyRow({ tenant, source, kind }: ReportSource, day: string): ReportRow {
  return {
    ...{ tenant, source, kind, day, accepted: 0, duplicates: 0, collisions: 0, refused: [], flags: {} },
    ...{ spend_cents: 0, delivered: 0, pending: 0, dead: 0, held: 0 },
    ...{ seconds_to_delivery: null, unknown_areas: [] },
  };
}

function addCount<T extends { count: number }>(
  list: T[] | undefined,
  one: T,
  isSame: (known: T) => boolean,
): void {
  const known = list?.find(isSame);
  if (known === undefined) list?.push(one);
  else known.count += one.count;
}

function addFigures(
  { row, seconds }: { readonly row: ReportRow; readonly seconds: Map<number, number> },
  figures: DayFigures,
): void {
  row.spend_cents += figures.spendCents;
  for (const name of ["accepted", "delivered", "pending", "dead", "held"] as const) {
    row[name] += figures[name];
  }
  for (const [flag, count] of Object.entries(figures.flags)) row.flags[flag] = (row.flags[flag] ?? 0) + count;
  for (const [bucket, count] of Object.entries(figures.seconds)) {
    seconds.set(Number(bucket), (seconds.get(Number(bucket)) ?? 0) + count);
  }
}

/** Median and 95th percentile by nearest rank, of counts by bucket (see the SQL function hour_figures). */
export function percentiles(seconds: ReadonlyMap<number, number>): ReportRow["seconds_to_delivery"] {
  const buckets = [...seconds].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let left = Math.ceil(total * share);
    const [bucket] = buckets.find(([, count]) => (left -= count) <= 0) as [number, number];
    // The middle of the bucket, to the millisecond.
    return Math.round(1.05 ** (bucket - 0.5)) / 1_000;
  };
  return { median: at(0.5), p95: at(0.95) };
}

const hourMs = 3_600_000;
const silentHoursMin = 24;
const gapFactor = 1.5;

/**
 * Sources with an active key. One is silent when nothing was accepted from it for one and a half times the longest time
 * that it let pass in the four weeks before, a day at least.
 *
 * Chosen: the longest gap of four weeks has the weekends and nights of a source in it, so that it takes a silence
 * beyond them; a source that has never had an event, and a sandbox tenant's, has nothing to fall silent from.
 */
export function sourceRows({ sources, now }: Pick<ReportData, "now" | "sources">): SourceRow[] {
  const groups = Map.groupBy(sources.filter(({ isSandbox }) => !isSandbox), nameOf);
  return [...groups.values()].filter((keys) => keys.some(({ isActive }) => isActive)).map((keys) => {
    const { tenant, source, kind } = keys[0] as ReportSource;
    const last = keys.map(({ lastAcceptedAt }) => lastAcceptedAt ?? "").sort().at(-1) || null;
    const gaps = keys.map(({ longestGapHours }) => longestGapHours ?? 0);
    const afterHours = last === null
      ? null
      : Math.max(silentHoursMin, Math.ceil(gapFactor * Math.max(...gaps)));
    const silentMs = last === null ? 0 : Date.parse(now) - Date.parse(last);
    return {
      ...{ tenant, source, kind },
      last_accepted_at: last,
      silent_after_hours: afterHours,
      silent: afterHours !== null && silentMs > afterHours * hourMs,
    };
  }).sort(byName);
}
