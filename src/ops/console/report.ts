/** `/report`: counts and costs by source and by day. */

import { type Markup, markup } from "../../http/markup.ts";
import { monthAfter, monthBounds, monthOf, TimeZone, utc } from "../../http/time_zone.ts";
import { readReport, type ReportPeriod } from "../../store/operator/report.ts";
import { readPauses } from "../../store/operator/pauses.ts";
import {
  type Figures,
  invalidFields,
  ofSource,
  refusalText,
  refusedPosts,
  type ReportRow,
  reportRows,
  sumOf,
  sumRows,
} from "../../store/operator/report_rows.ts";
import { Unavailable } from "../../store/pool.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, select, table } from "./layout.ts";
import { pausedNote } from "./pause.ts";
import { parseQuery, queryString, selectedTenant, sourceSelect, tenantSelect } from "./request.ts";
import { formatCount, formatMs, moneyCells, monthName, type PageClock, pluralize, safeText } from "./text.ts";

const dayMs = 86_400_000;
const dayRanges = {
  "today": { days: 1, text: "today" },
  "7d": { days: 7, text: "the last 7 days" },
  "30d": { days: 30, text: "the last 30 days" },
} as const;
type DayRange = keyof typeof dayRanges;
// The months to choose from; the page's URL can name any other.
const monthsListed = 12;

export async function reportPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["range", "tenant", "source"]);
  const sent = form.text("range") ?? "7d";
  const isMonth = monthBounds(sent, utc) !== null;
  const tenant = await selectedTenant(parts.pool, form);
  const source = form.text("source");
  const monthZone = tenant.slug === null ? clock.zone : new TimeZone(tenant.timeZone);
  const thisMonth = monthOf(clock.nowMs, monthZone);
  const months = Array.from({ length: monthsListed }, (_, index) => monthAfter(thisMonth, -index));
  if (isMonth && !months.includes(sent)) months.push(sent);
  const range = isMonth ? sent : form.oneOf("range", [...Object.keys(dayRanges), ...months]) ?? sent;
  const zone = isMonth ? monthZone : clock.zone;
  const span = rangeSpan(range, { nowMs: clock.nowMs, zone });
  const data = await readReport(parts.pool, { ...span, tenant: tenant.slug });
  const shown = { ...data, sources: ofSource(data.sources, source) };
  const rows = reportRows(shown, () => "").rows;
  const csv = queryString({
    since: span.since.slice(0, 10),
    until: new Date(Math.ceil(Date.parse(span.until) / dayMs) * dayMs).toISOString().slice(0, 10),
    tenant: tenant.slug,
    source,
    format: "csv",
  });
  return {
    title: "Report",
    body: markup`<h1>Report</h1>
<p>Posts accepted ${
      rangeText(range)
    }, and their current state. Days and months begin at midnight in ${zone.name}${
      zone.name !== "UTC" && "; the CSV has UTC days"
    }. Credits are for leads that were returned, whenever that was.</p>
<form class="filters" method="get" action="/report">
${
      select("range", [
        ...Object.entries(dayRanges).map(([name, { text }]) => [name, text] as const),
        ...months.map((month, index) =>
          [month, ["this month", "last month"][index] ?? monthName(month)] as const
        ),
      ], { label: "Accepted", selected: range })
    }
${await tenantSelect(parts.pool, tenant.slug)}${
      sourceSelect(data.sources.map(({ source: label }) => label), source)
    }<div><button class="main">Show</button></div></form>
${pausedNote(await readPauses(parts.pool, null), tenant.slug)}
<h2>By source</h2>
${sourceTable(rows)}
<div class="row"><a class="button" href="/v1/report${csv}">Download as CSV, by day</a>${
      isMonth && tenant.slug !== null &&
      markup`<a class="button" href="/statement${
        queryString({ tenant: tenant.slug, month: range, source })
      }">Statement of the month</a>`
    }</div>
${span.periods.length > 1 && rows.length > 0 && markup`<h2>By day</h2>${dayTable(reportRows(shown).rows)}`}`,
  };
}

// The overview does not wait for a slow report.
const totalsDeadlineMs = 3_000;

/** Renders the report's totals with a link to the report; `null` if the store is unavailable or too slow. */
export async function reportTotals(
  { parts, clock }: Pick<Context, "parts" | "clock">,
  range: DayRange,
): Promise<Markup | null> {
  const { since, until } = rangeSpan(range, clock);
  try {
    const data = await readReport(parts.pool, { since, until, tenant: null, deadlineMs: totalsDeadlineMs });
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

const isDayRange = (range: string): range is DayRange => Object.hasOwn(dayRanges, range);

function rangeText(range: string): string {
  if (range === "today") return range;
  return `in ${isDayRange(range) ? dayRanges[range].text : monthName(range)}`;
}

/** Returns the local days of a range, which is one of {@linkcode dayRanges} or a month, and the range's bounds. */
function rangeSpan(range: string, { nowMs, zone }: PageClock) {
  const tomorrowMs = Date.parse(zone.at(nowMs).day) + dayMs;
  // Local midnights, as if they were UTC.
  const [firstMs, endMs] = isDayRange(range)
    ? [tomorrowMs - dayRanges[range].days * dayMs, tomorrowMs]
    : [Date.parse(`${range}-01`), Date.parse(`${monthAfter(range, 1)}-01`)];
  const periods: ReportPeriod[] = [];
  for (let midnightMs = firstMs; midnightMs <= endMs; midnightMs += dayMs) {
    periods.push({
      name: new Date(midnightMs).toISOString().slice(0, 10),
      since: new Date(zone.instantsOf(midnightMs)[0]).toISOString(),
    });
  }
  const { since: until } = periods.pop() as ReportPeriod;
  return { since: periods[0]?.since ?? until, until, periods };
}

function sourceTable(rows: readonly ReportRow[]): Markup {
  const total = sumRows(rows);
  return table(
    [
      "Tenant and source",
      ">Accepted",
      ">Delivered",
      ">Open",
      ">Duplicates",
      ">Refused",
      ">Returned",
      ">Gross",
      ">Credit",
      ">Net",
    ],
    [
      ...rows.map((row) => ({
        cells: [markup`${sourceLink(row)}${details(row, row.seconds_to_delivery)}`, ...figureCells(row)],
      })),
      ...(rows.length > 1
        ? [{ cells: [markup`<strong>All</strong>${details(total, null)}`, ...figureCells(total)] }]
        : []),
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
  const { accepted, delivered, pending, dead, held, held_apart: apart, duplicates, collisions, returned } =
    row;
  const open = [
    pending > 0 && markup`${formatCount(pending)} waiting`,
    dead > 0 && markup`<a href="/dead">${formatCount(dead)} dead</a>`,
    held > 0 && markup`<a href="/held">${formatCount(held)} held</a>`,
    apart > 0 && markup`<span class="quiet">${formatCount(apart)} held apart</span>`,
  ].filter((part) => part !== false);
  return [
    formatCount(accepted),
    formatCount(delivered),
    open.length === 0
      ? "0"
      : markup`${open.map((part, index) => markup`${index > 0 && markup`<br>`}${part}`)}`,
    markup`${formatCount(duplicates)}${
      collisions > 0 && markup`<br><a href="/collisions">${pluralize(collisions, "collision")}</a>`
    }`,
    formatCount(sumOf(refusedPosts(row))),
    formatCount(returned),
    ...moneyCells(row),
  ];
}

/** Renders the reasons for refusals and the time to delivery, folded; empty if there are neither. */
function details(row: Pick<ReportRow, "refused">, seconds: ReportRow["seconds_to_delivery"]): Markup {
  const lists = [["refused post", refusedPosts(row)], ["invalid field", invalidFields(row)]] as const;
  if (row.refused.length === 0 && seconds === null) return markup``;
  return markup`<details><summary>${row.refused.length > 0 ? "Refusals and times" : "Times"}</summary>${
    lists.map(([noun, refusals]) =>
      refusals.length > 0 && markup`${pluralize(sumOf(refusals), noun)}<ul>${
        refusals.toSorted((a, b) => b.count - a.count).map((refusal) =>
          markup`<li>${refusalText(refusal)}: ${formatCount(refusal.count)}</li>`
        )
      }</ul>`
    )
  }${
    seconds !== null &&
    markup`Time to delivery: ${formatMs(Math.round(seconds.median * 1_000))} median, ${
      formatMs(Math.round(seconds.p95 * 1_000))
    } for 95%`
  }</details>`;
}

function dayTable(rows: readonly ReportRow[]): Markup {
  const days = [...Map.groupBy(rows, ({ day }) => day)];
  return table(
    ["Day", ">Accepted", ">Delivered", ">Dead", ">Refused", ">Returned", ">Gross", ">Credit", ">Net"],
    days.map(([day, dayRows]) => {
      const totals = sumRows(dayRows);
      const { accepted, delivered, dead, returned } = totals;
      return {
        cells: [
          day,
          formatCount(accepted),
          formatCount(delivered),
          formatCount(dead),
          formatCount(sumOf(refusedPosts(totals))),
          formatCount(returned),
          ...moneyCells(totals),
        ],
      };
    }),
    { label: "By day", empty: markup`No posts in this period.` },
  );
}
