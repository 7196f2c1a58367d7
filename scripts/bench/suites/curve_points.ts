/**
 * What a saved run of the curve has found, point by point, and its pictures and tables.
 *
 * @module
 */

import { table } from "../../../src/contract/markdown.ts";
import { type LineChart, type Point, renderLines, shortNumber } from "../draw/lines.ts";
import type { Measured } from "../suite.ts";

/** Leads posted with so many keys to a store with so many events. */
export interface CurvePoint {
  readonly events: number;
  readonly keys: number;
  /** By name: median, lowest and highest. */
  readonly measures: Measured[string];
}

/** How a point is called among the contenders. */
export function pointName(events: number, keys: number): string {
  return `${events} events, ${keys} keys`;
}

/** The measure of what a table or an index takes on the disk, for each stored event. */
export const diskMeasure = (relation: string) => `bytes on disk an event: ${relation}`;
/** The measure of a page of the operator's search, and of the slowest one. */
export const searchMeasure = (question: string) => `search, ms a page: ${question}`;
export const slowestMeasure = (question: string) => `search, ms the slowest page: ${question}`;
/** All of the database. */
export const wholeDatabase = "all of the database";

/** The points, by events and keys. */
export function curvePoints(measured: Measured): CurvePoint[] {
  return Object.entries(measured).flatMap(([name, measures]) => {
    const [, events, keys] = /^(\d+) events, (\d+) keys$/.exec(name) ?? [];
    return keys === undefined ? [] : [{ events: Number(events), keys: Number(keys), measures }];
  }).sort((a, b) => a.events - b.events || a.keys - b.keys);
}

/** What a picture shows: a measure, a line for each number of keys. */
const byKeys = {
  leads: { measure: "leads/s", title: "Accepted leads a second, 64 in flight", yLabel: "leads a second" },
  p99: { measure: "99th percentile ms", title: "99th percentile of the answer, 64 in flight", yLabel: "ms" },
  postgresql: {
    measure: "PostgreSQL, processor µs per lead",
    title: "Processor time of PostgreSQL for a lead",
    yLabel: "µs a lead",
  },
  wal: { measure: "WAL bytes a lead", title: "Write-ahead log of a lead", yLabel: "bytes a lead" },
} as const;

const [isTable, isIndex] = [
  (name: string) => name.startsWith("table "),
  (name: string) => name.startsWith("index "),
];
/** What the picture of the disk adds up. */
const onDisk: Readonly<Record<string, (relation: string) => boolean>> = {
  "all of the database": (relation) => relation === wholeDatabase,
  "tables": isTable,
  "indexes": isIndex,
};

/** The pictures by the names of their files. */
export function drawCurve(measured: Measured): Record<string, string> {
  const points = curvePoints(measured);
  if (points.length === 0) return {};
  const line = (name: string, of: readonly CurvePoint[], isOf: (measure: string) => boolean) => ({
    name,
    points: of.map(({ events, measures }): Point => {
      const figures = Object.entries(measures).filter(([measure]) => isOf(measure)).map(([, figure]) =>
        figure
      );
      const sum = (place: number) => figures.reduce((sum, figure) => sum + (figure[place] ?? 0), 0);
      return { x: events, median: sum(0), lowest: sum(1), highest: sum(2) };
    }),
  });
  const keyCounts = [...new Set(points.map(({ keys }) => keys))];
  const xLabel = "stored events";
  const charts: Record<string, LineChart> = {};
  for (const [name, { measure, title, yLabel }] of Object.entries(byKeys)) {
    const series = keyCounts.map((count) =>
      line(keysInWords(count), points.filter(({ keys }) => keys === count), (one) => one === measure)
    );
    charts[name] = { title, xLabel, yLabel, series };
  }
  const ofAllKeys = points.filter(({ keys }) => keys === keyCounts.at(-1));
  charts.disk = {
    title: "Bytes on disk for a stored event",
    xLabel,
    yLabel: "bytes an event",
    series: Object.entries(onDisk).map(([name, isOf]) =>
      line(name, ofAllKeys, (measure) => measure.startsWith(disk) && isOf(measure.slice(disk.length)))
    ),
  };
  return Object.fromEntries(
    Object.entries(charts).map(([name, chart]) => [`curve_${name}.svg`, renderLines(chart)]),
  );
}

const disk = diskMeasure("");
const keysInWords = (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "key" : "keys"}`;

/** What the first table tells of a point. */
const columns: Readonly<Record<string, string>> = {
  "leads/s": "leads/s",
  "p99, ms": "99th percentile ms",
  "service, µs a lead": "server, processor µs per lead",
  "PostgreSQL, µs a lead": "PostgreSQL, processor µs per lead",
  "WAL, bytes a lead": "WAL bytes a lead",
  "on disk, bytes an event": diskMeasure(wholeDatabase),
};

/** The figures of the points, and what each table and index takes on the disk. */
export function curveTables(measured: Measured): string {
  const points = curvePoints(measured);
  const most = Math.max(...points.map(({ keys }) => keys));
  const ofAllKeys = points.filter(({ keys }) => keys === most);
  const figure = (measures: CurvePoint["measures"], name: string) => {
    const [median] = measures[name] ?? [];
    return median === undefined ? "–" : Number(median.toPrecision(3)).toLocaleString("en");
  };
  return [
    table(
      ["Stored events", "Keys", ...Object.keys(columns)],
      points.map(({ events, keys, measures }) => [
        events.toLocaleString("en"),
        keys.toLocaleString("en"),
        ...Object.values(columns).map((name) => figure(measures, name)),
      ]),
    ),
    `Bytes on disk an event, posted with ${keysInWords(most)}:`,
    table(
      ["", ...ofAllKeys.map(({ events }) => `${shortNumber(events)} events`)],
      relationsOf(ofAllKeys).map((name) => [
        name.replace(/^(table|index) (.+)$/, "$1 `$2`"),
        ...ofAllKeys.map(({ measures }) => figure(measures, diskMeasure(name))),
      ]),
    ),
    `A page of the operator's search in ms, the median of nineteen questions and the slowest, posted with ${
      keysInWords(most)
    }:`,
    table(
      ["", ...ofAllKeys.map(({ events }) => `${shortNumber(events)} events`)],
      questionsOf(ofAllKeys).map((question) => [
        question,
        ...ofAllKeys.map(({ measures }) =>
          `${figure(measures, searchMeasure(question))} (${figure(measures, slowestMeasure(question))})`
        ),
      ]),
    ),
  ].join("\n\n");
}

/** What was asked of the search. */
function questionsOf(points: readonly CurvePoint[]): string[] {
  const prefix = searchMeasure("");
  const names = points.flatMap(({ measures }) =>
    Object.keys(measures).filter((name) => name.startsWith(prefix))
  );
  return [...new Set(names.map((name) => name.slice(prefix.length)))];
}

/** What takes room on the disk, the largest first. */
function relationsOf(points: readonly CurvePoint[]): string[] {
  const largest = new Map<string, number>();
  for (const { measures } of points) {
    for (const [name, [median = 0]] of Object.entries(measures)) {
      if (!name.startsWith(disk)) continue;
      const relation = name.slice(disk.length);
      largest.set(relation, Math.max(median, largest.get(relation) ?? 0));
    }
  }
  return [...largest].sort(([, a], [, b]) => b - a).map(([name]) => name);
}
