import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { renderLines, shortNumber, ticksTo } from "../../../scripts/bench/draw/lines.ts";
import {
  curvePoints,
  curveTables,
  diskMeasure,
  drawCurve,
  pointName,
  searchMeasure,
  slowestMeasure,
} from "../../../scripts/bench/suites/curve_points.ts";

const at = (leads: number, table: number) => ({
  "leads/s": [leads, leads - 10, leads + 10],
  [diskMeasure("table event")]: [table, table, table],
  [searchMeasure("an address")]: [2, 1, 3],
  [slowestMeasure("an address")]: [9.5, 9, 10],
});
const measured = {
  [pointName(1_000_000, 1)]: at(500, 1_500),
  [pointName(0, 1)]: at(1_000, 1_600),
  "bare node:http, 0 events": { "leads/s": [9_000, 9_000, 9_000] },
  [pointName(0, 100)]: at(990, 1_610),
};

test("the points of a saved curve come by events and keys, without the bare server's", () => {
  assert.deepEqual(
    curvePoints(measured).map(({ events, keys }) => [events, keys]),
    [[0, 1], [0, 100], [1_000_000, 1]],
  );
});

test("the tables have a line a point, what each table takes on the disk, and how long a search takes", () => {
  const [points = "", , disk = "", , search = ""] = curveTables(measured).split("\n\n");
  const cells = (text: string) =>
    text.split("\n").slice(2).map((line) => line.split("|").map((cell) => cell.trim()));
  assert.deepEqual(cells(points).map((line) => line.slice(1, 4)), [
    ["0", "1", "1,000"],
    ["0", "100", "990"],
    ["1,000,000", "1", "500"],
  ]);
  assert.deepEqual(cells(disk), [["", "table `event`", "1,610", ""]]);
  assert.deepEqual(cells(search), [["", "an address", "2 (9.5)", ""]]);
});

test("axes begin at 0 and have round ticks, the last one not below what is shown", () => {
  assert.deepEqual(ticksTo(20_000_000), [0, 5e6, 1e7, 1.5e7, 2e7]);
  assert.deepEqual(ticksTo(121), [0, 50, 100, 150]);
  assert.deepEqual(ticksTo(0), [0, 1]);
  assert.deepEqual([0, 7.25, 1_500, 100_000, 20_000_000].map(shortNumber), [
    "0",
    "7.25",
    "1,500",
    "100 k",
    "20 M",
  ]);
});

test("a line goes through its medians, and each point shows its spread", () => {
  const svg = renderLines({
    title: "Leads & more",
    xLabel: "events",
    yLabel: "leads a second",
    series: [{
      name: "1 key",
      points: [{ x: 0, median: 100, lowest: 50, highest: 100 }, { x: 10, median: 0, lowest: 0, highest: 0 }],
    }],
  });
  // From the upper left corner of the field to its lower right one.
  assert.match(svg, /<polyline [^>]*points="80\.0,64\.0 660\.0,326\.0"/);
  assert.match(svg, /<title>1 key, 0: 100 \(50–100\)<\/title><path d="M80\.0 195\.0V64\.0"/);
  assert.match(svg, /aria-label="Leads &amp; more"/);
  assert.match(svg, />leads a second</);
});

test("the pictures in the documents are those of the saved curve", () => {
  const folder = new URL("../../../docs/benchmarks/", import.meta.url);
  const { measured } = JSON.parse(readFileSync(new URL("curve.json", folder), "utf8"));
  const drawn = drawCurve(measured);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".svg")).sort(),
    Object.keys(drawn).sort(),
  );
  for (const [name, picture] of Object.entries(drawn)) {
    assert.equal(readFileSync(new URL(name, folder), "utf8"), picture, name);
  }
});
