/** `/report`: counts and costs by source and by day. */

import { type Markup, markup } from "../../http/markup.ts";
import { readReport } from "../../store/operator/report.ts";
import { Unavailable } from "../../store/pool.ts";
import {
  invalidFields,
  refusalText,
  refusedPosts,
  type ReportRow,
  reportRows,
  sumOf,
} from "../report_rows.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, select, table } from "./layout.ts";
import { parseQuery, queryString, selectedTenant, tenantSelect } from "./request.ts";
import {
  formatCents,
  formatCount,
  formatMs,
  localTime,
  type PageClock,
  pluralize,
  safeText,
} from "./text.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const dayRanges = {
  "today": { days: 1, text: "today" },
  "7d": { days: 7, text: "the last 7 days" },
  "30d": { days: 30, text: "the last 30 days" },
} as const;
export type DayRange = keyof typeof dayRanges;
// The CSV lists all reasons.
const reasonsNamedMax = 3;

export async function reportPage({ parts, query, clock: { nowMs, zone } }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["range", "tenant"]);
  const range = form.oneOf("range", Object.keys(dayRanges) as DayRange[]) ?? "7d";
  const tenant = await selectedTenant(parts.pool, form);
  const { sinceMs, untilMs } = rangeBounds(range, { nowMs, zone });
  const since = new Date(sinceMs).toISOString();
  const data = await readReport(parts.pool, {
    since,
    until: new Date(untilMs).toISOString(),
    tenant: tenant.slug,
  });
  const rows = reportRows(data, () => "").rows;
  const csv = queryString({
    since: since.slice(0, 10),
    until: new Date(Math.ceil(untilMs / dayMs) * dayMs).toISOString().slice(0, 10),
    tenant: tenant.slug,
    format: "csv",
  });
  return {
    title: "Report",
    body: markup`<h1>Report</h1>
<p>Posts accepted ${dayRanges[range].text}, and their current state. ${
      isUtcMidnight(sinceMs)
        ? "Days are UTC days."
        : `Today began at ${
          localTime(sinceMs, zone)
        } in ${zone.name}. Duplicates and refusals are counted by UTC day,
here since ${since.slice(0, 10)}. The CSV counts everything by UTC day.`
    }</p>
<form class="filters" method="get" action="/report">
${
      select("range", Object.entries(dayRanges).map(([name, { text }]) => [name, text] as const), {
        label: "Days",
        selected: range,
      })
    }
${await tenantSelect(parts.pool, tenant.slug)}<div><button class="main">Show</button></div></form>
<h2>By source</h2>
${sourceTable(rows)}
<p><a class="button" href="/v1/report${csv}">Download as CSV, by day</a></p>
${dayRanges[range].days > 1 && rows.length > 0 && markup`<h2>By day</h2>${dayTable(reportRows(data).rows)}`}`,
  };
}

// The overview does not wait for a slow report.
const totalsDeadlineMs = 3_000;

/** Renders the report's totals with a link to the report; `null` if the store is unavailable or too slow. */
export async function reportTotals(
  { parts, clock }: Pick<Context, "parts" | "clock">,
  range: DayRange,
): Promise<Markup | null> {
  const { sinceMs, untilMs } = rangeBounds(range, clock);
  const [since, until] = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  try {
    const data = await readReport(parts.pool, {
      since,
      until,
      tenant: null,
      deadlineMs: totalsDeadlineMs,
    });
    const totals = sumRows(reportRows(data, () => "").rows);
    const refusals = refusedPosts(totals);
    return markup`<a href="/report?range=${range}">Report for ${dayRanges[range].text}</a>: ${
      formatCount(totals.accepted)
    } accepted, ${formatCount(totals.delivered)} delivered, ${pluralize(sumOf(refusals), "post")} refused${
      totals.refused.length > refusals.length &&
      markup` (${pluralize(sumOf(invalidFields(totals)), "invalid field")})`
    }. The plot also includes posts refused without a known key.`;
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

/**
 * Returns the bounds of a range. Today is the day in the operator's time zone, with its start rounded down to a full UTC
 * hour; longer ranges are whole UTC days, as in the CSV.
 */
function rangeBounds(range: DayRange, { nowMs, zone }: PageClock): { sinceMs: number; untilMs: number } {
  if (range === "today") {
    const midnight = Math.floor((nowMs + zone.offsetMs(nowMs)) / dayMs) * dayMs;
    const [sinceMs] = zone.instantsOf(midnight);
    const [untilMs] = zone.instantsOf(midnight + dayMs);
    return { sinceMs: Math.floor(sinceMs / hourMs) * hourMs, untilMs };
  }
  const untilMs = Math.floor(nowMs / dayMs) * dayMs + dayMs;
  return { sinceMs: untilMs - dayRanges[range].days * dayMs, untilMs };
}

const isUtcMidnight = (atMs: number) => atMs % dayMs === 0;

function sourceTable(rows: readonly ReportRow[]): Markup {
  const total = sumRows(rows);
  return table(
    [
      "Tenant and source",
      ">Accepted",
      ">Delivered",
      ">Waiting",
      ">Dead",
      ">Held",
      ">Duplicates",
      ">Collisions",
      ">Refused posts",
      ">Invalid fields",
      ">Spend",
      ">Median time to delivery",
    ],
    [
      ...rows.map((row) => ({ cells: [sourceLink(row), ...figureCells(row), medianText(row)] })),
      ...(rows.length > 1 ? [{ cells: [markup`<strong>All</strong>`, ...figureCells(total), "–"] }] : []),
    ],
    { label: "By source", empty: markup`No posts in this period.` },
  );
}

function sourceLink({ tenant, source, kind }: ReportRow): Markup {
  return markup`<a href="/leads${queryString({ tenant, source, kind })}">${tenant}<br>${
    safeText(source)
  }</a>${kind === "form" && markup` <span class="quiet">forms</span>`}`;
}

function figureCells(row: Figures): (string | Markup)[] {
  const { accepted, delivered, pending, dead, held, held_apart: apart, duplicates, collisions } = row;
  return [
    ...[accepted, delivered, pending].map(formatCount),
    dead === 0 ? "0" : markup`<a href="/dead">${formatCount(dead)}</a>`,
    markup`${held === 0 ? "0" : markup`<a href="/held">${formatCount(held)}</a>`}${
      apart > 0 && markup`<br><span class="quiet">apart: ${formatCount(apart)}</span>`
    }`,
    formatCount(duplicates),
    collisions === 0 ? "0" : markup`<a href="/collisions">${formatCount(collisions)}</a>`,
    refusalCell(refusedPosts(row)),
    refusalCell(invalidFields(row)),
    formatCents(row.spend_cents),
  ];
}

function refusalCell(refusals: ReportRow["refused"]): Markup {
  const mainReasons = refusals.toSorted((a, b) => b.count - a.count).slice(0, reasonsNamedMax);
  return markup`${formatCount(sumOf(refusals))}${
    mainReasons.map((refusal) =>
      markup`<br><span class="quiet">${refusalText(refusal)}: ${formatCount(refusal.count)}</span>`
    )
  }${refusals.length > mainReasons.length && markup`<br><span class="quiet">and others</span>`}`;
}

function medianText({ seconds_to_delivery: seconds }: ReportRow): string {
  return seconds === null ? "–" : formatMs(Math.round(seconds.median * 1_000));
}

function dayTable(rows: readonly ReportRow[]): Markup {
  const days = [...Map.groupBy(rows, ({ day }) => day)];
  return table(
    ["Day", ">Accepted", ">Delivered", ">Dead", ">Refused posts", ">Spend"],
    days.map(([day, dayRows]) => {
      const totals = sumRows(dayRows);
      const { accepted, delivered, dead, spend_cents: cents } = totals;
      return {
        cells: [
          day,
          ...[accepted, delivered, dead, sumOf(refusedPosts(totals))].map(formatCount),
          formatCents(cents),
        ],
      };
    }),
    { label: "By day", empty: markup`No posts in this period.` },
  );
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
  "spend_cents",
] as const satisfies readonly (keyof ReportRow)[];

type Figures = Readonly<Record<typeof summedColumns[number], number>> & Pick<ReportRow, "refused">;

function sumRows(rows: readonly ReportRow[]): Figures {
  const reasons = Map.groupBy(rows.flatMap(({ refused }) => refused), refusalText);
  return {
    ...Object.fromEntries(
      summedColumns.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
    ) as Record<typeof summedColumns[number], number>,
    refused: [...reasons.values()].map((same) => ({
      ...(same[0] as ReportRow["refused"][number]),
      count: same.reduce((sum, one) => sum + one.count, 0),
    })),
  };
}
