/**
 * Makes Grafana's dashboard of the panels and the table of metrics.
 *
 * @module
 */

import { type Metric, type MetricName, metrics } from "../../src/observe/metrics.ts";
import { type Panel, type Query, rows } from "./panels.ts";

// The grid has 24 columns.
const columns = 24;
const sizes = { figure: { w: 4, h: 4 }, lines: { w: 8, h: 8 } } as const;
const quantiles = [0.5, 0.95, 0.99] as const;

/** A question as Grafana asks it, and what it calls the answer. */
interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

function selector({ where }: Query): string {
  return `{${['job=~"$job"', 'instance=~"$instance"', ...where ? [where] : []].join(",")}}`;
}

/** The questions of one line of a panel. */
export function targetsOf(query: Query): readonly Target[] {
  const { metric, as, by = [], legend } = query;
  const kind: Metric["kind"] = metrics[metric].kind;
  const series = `${metric}${kind === "histogram" && as === "rate" ? "_count" : ""}${selector(query)}`;
  const rate = (suffix = "") => `rate(${metric}${suffix}${selector(query)}[$__rate_interval])`;
  const group = by.length === 0 ? "" : ` by (${by.join(", ")})`;
  const called = (labels: readonly string[]) => legend ?? labels.map((label) => `{{${label}}}`).join(" ");
  const perProcess = legend === undefined
    ? called([...by, "job", "instance"])
    : `${legend} {{job}} {{instance}}`;
  switch (as) {
    case "rate":
      return [{ expr: `sum${group} (rate(${series}[$__rate_interval]))`, legendFormat: called(by) }];
    case "quantiles":
      return quantiles.map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum by (le) (${rate("_bucket")}))`,
        legendFormat: `${quantile * 100} %`,
      }));
    case "mean":
      return [{ expr: `sum(${rate("_sum")}) / sum(${rate("_count")})`, legendFormat: called([]) }];
    case "all":
      return [{ expr: `max(${series})`, legendFormat: called([]) }];
    case "each":
      return [{ expr: series, legendFormat: perProcess }];
    case "until":
      return [{ expr: `min${group} (${series}) - time()`, legendFormat: called(by) }];
    case "since":
      return [{ expr: `time() - max${group} (${series})`, legendFormat: called(by) }];
  }
}

/** Grafana's name of the unit; what has none of its own is named after the figure. */
function unitOf({ metric, as }: Query): string {
  const unit = metrics[metric].unit;
  if (as === "rate") {
    if (unit === "seconds" && metrics[metric].kind === "counter") return "percentunit";
    return unit === "bytes" ? "Bps" : `suffix: ${metrics[metric].kind === "histogram" ? "" : unit}/s`;
  }
  if (unit === "seconds" || unit === "timestamp") return "s";
  if (unit === "bytes") return "bytes";
  return unit === "yes or no" ? "bool_yes_no" : "short";
}

function thresholdsOf({ threshold }: Panel): object {
  const calm = { color: "green", value: null };
  if (threshold === undefined) return { mode: "absolute", steps: [calm] };
  const { at, isBelow } = threshold;
  // A step is reached by its value; "more than none" begins at one.
  const steps = isBelow
    ? [{ color: "red", value: null }, { color: "green", value: at === 0 ? 1 : at }]
    : [calm, { color: "red", value: at === 0 ? 1 : at }];
  return { mode: "absolute", steps };
}

const datasource = { type: "prometheus", uid: "${datasource}" };

function panelOf(
  panel: Panel,
  place: { readonly id: number; readonly x: number; readonly y: number },
): object {
  const { title, queries, isFigure, threshold } = panel;
  const { w, h } = isFigure ? sizes.figure : sizes.lines;
  const custom = isFigure ? {} : {
    custom: {
      ...{ drawStyle: "line", lineWidth: 1, fillOpacity: 10, showPoints: "never", spanNulls: false },
      thresholdsStyle: { mode: threshold === undefined ? "off" : "line" },
    },
  };
  const said = queries.map(({ metric }) => `\`${metric}\`: ${metrics[metric].help}`).join("\n\n");
  const about = threshold === undefined ? "" : `\n\nAlert: ${threshold.of}`;
  return {
    id: place.id,
    type: isFigure ? "stat" : "timeseries",
    title,
    description: said + about,
    datasource,
    gridPos: { x: place.x, y: place.y, w, h },
    fieldConfig: {
      defaults: {
        unit: unitOf(queries[0]),
        ...(unitOf(queries[0]) === "short" ? { decimals: 0 } : {}),
        ...(threshold?.isBelow ? {} : { min: queries[0].metric.includes("offset") ? null : 0 }),
        thresholds: thresholdsOf(panel),
        ...custom,
      },
      overrides: [],
    },
    options: isFigure
      ? { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, colorMode: "background" }
      : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: queries.flatMap(targetsOf).map((target, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      ...target,
    })),
  };
}

function variable(name: string, query: string, from: MetricName): object {
  return {
    ...{ name, label: name, type: "query", datasource, refresh: 2, sort: 1 },
    ...{ multi: true, includeAll: true, allValue: ".*", current: { text: "All", value: "$__all" } },
    query: { query: `label_values(${from}${query}, ${name})`, refId: name },
    definition: `label_values(${from}${query}, ${name})`,
  };
}

/** The dashboard, as Grafana imports it. */
export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  let id = 0;
  for (const [title, row] of Object.entries(rows)) {
    panels.push({
      id: id += 1,
      type: "row",
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    let x = 0;
    let rowHeight = 0;
    for (const panel of row) {
      const { w, h } = panel.isFigure ? sizes.figure : sizes.lines;
      if (x + w > columns) {
        x = 0;
        y += rowHeight;
      }
      panels.push(panelOf(panel, { id: id += 1, x, y }));
      x += w;
      rowHeight = h;
    }
    y += rowHeight;
  }
  return {
    ...{ uid: "lead-intake", title: "Lead Intake Service", tags: ["lead-intake"], editable: true },
    ...{ schemaVersion: 38, version: 1, timezone: "browser", refresh: "30s", graphTooltip: 1 },
    time: { from: "now-6h", to: "now" },
    annotations: { list: [] },
    templating: {
      list: [
        { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", refresh: 1 },
        variable("job", "", "lead_build_info"),
        variable("instance", '{job=~"$job"}', "lead_build_info"),
      ],
    },
    panels,
  };
}
