/** The report: what came in, what became of it and what it cost, by source and by day. */

import { type Markup, markup } from "../../http/markup.ts";
import { readReport } from "../../store/operator/report.ts";
import { Unavailable } from "../../store/pool.ts";
import { fieldFaults, refusalText, refusedPosts, type ReportRow, reportRows, sumOf } from "../report_rows.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, select, table } from "./layout.ts";
import { chosenTenant, parseQuery, queryOf, tenantSelect } from "./request.ts";
import { count, counted, dollars, duration, moment, type PageClock, shown } from "./text.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const spans = {
  "today": { days: 1, text: "today" },
  "7d": { days: 7, text: "the last 7 days" },
  "30d": { days: 30, text: "the last 30 days" },
} as const;
/** The name of a span of days. */
export type SpanName = keyof typeof spans;
// Beside a count; the CSV has them all.
const reasonsNamed = 3;

/** `/report` */
export async function reportPage({ parts, query, clock: { nowMs, zone } }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["range", "tenant"]);
  const range = form.word("range", Object.keys(spans) as SpanName[]) ?? "7d";
  const tenant = await chosenTenant(parts.pool, form);
  const { sinceMs, untilMs } = daysOf(range, { nowMs, zone });
  const since = new Date(sinceMs).toISOString();
  const data = await readReport(parts.reportPool, {
    ...{ since, until: new Date(untilMs).toISOString(), tenant: tenant.slug },
  });
  const rows = reportRows(data, () => "").rows;
  const csv = queryOf({
    since: since.slice(0, 10),
    until: new Date(Math.ceil(untilMs / dayMs) * dayMs).toISOString().slice(0, 10),
    tenant: tenant.slug,
    format: "csv",
  });
  return {
    title: "Report",
    body: markup`<h1>Report</h1>
<p>What was accepted ${spans[range].text}, and what has become of it until now. ${
      isUtcDay(sinceMs)
        ? "Days are days of UTC."
        : `Today began at ${
          moment(sinceMs, zone)
        } in ${zone.name}. Duplicates and refusals are counted by days of UTC,
here since ${since.slice(0, 10)}, and so is all of the CSV.`
    }</p>
<form class="filters" method="get" action="/report">
${
      select("range", Object.entries(spans).map(([name, { text }]) => [name, text] as const), {
        label: "Days",
        chosen: range,
      })
    }
${await tenantSelect(parts.pool, tenant.slug)}<div><button class="main">Show</button></div></form>
<h2>By source</h2>
${bySource(rows)}
<p><a class="button" href="/v1/report${csv}">As CSV, by day</a></p>
${spans[range].days > 1 && rows.length > 0 && markup`<h2>By day</h2>${byDay(reportRows(data).rows)}`}`,
  };
}

// The overview does not wait for a report of millions.
const briefMs = 3_000;

/** The totals of the report, for a page that leads to it; `null` when they are not to be had at once. */
export async function totals(
  { parts, clock }: Pick<Context, "parts" | "clock">,
  range: SpanName,
): Promise<Markup | null> {
  const { sinceMs, untilMs } = daysOf(range, clock);
  const [since, until] = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  try {
    const data = await readReport(parts.reportPool, { since, until, tenant: null, deadlineMs: briefMs });
    const all = addedUp(reportRows(data, () => "").rows);
    const posts = refusedPosts(all);
    return markup`In the report of <a href="/report?range=${range}">${spans[range].text}</a>: ${
      count(all.accepted)
    } accepted, ${count(all.delivered)} delivered, ${counted(sumOf(posts), "post")} refused${
      all.refused.length > posts.length && markup` (${counted(sumOf(fieldFaults(all)), "faulty field")})`
    }. The plot also has what was refused without a key that is known.`;
  } catch (error) {
    if (error instanceof Unavailable) return null;
    throw error;
  }
}

/**
 * Today is the day that the operator's clocks show, from the hour of UTC in which it began; more days are days of UTC,
 * as in the CSV.
 */
function daysOf(range: SpanName, { nowMs, zone }: PageClock): { sinceMs: number; untilMs: number } {
  if (range === "today") {
    const midnight = Math.floor((nowMs + zone.offsetMs(nowMs)) / dayMs) * dayMs;
    const [sinceMs] = zone.momentsOf(midnight);
    const [untilMs] = zone.momentsOf(midnight + dayMs);
    return { sinceMs: Math.floor(sinceMs / hourMs) * hourMs, untilMs };
  }
  const untilMs = Math.floor(nowMs / dayMs) * dayMs + dayMs;
  return { sinceMs: untilMs - spans[range].days * dayMs, untilMs };
}

const isUtcDay = (atMs: number) => atMs % dayMs === 0;

function bySource(rows: readonly ReportRow[]): Markup {
  const total = addedUp(rows);
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
      ">Faulty fields",
      ">Spend",
      ">Median wait",
    ],
    [
      ...rows.map((row) => ({ cells: [source(row), ...figures(row), median(row)] })),
      ...(rows.length > 1 ? [{ cells: [markup`<strong>All</strong>`, ...figures(total), "–"] }] : []),
    ],
    { label: "By source", empty: markup`Nothing came in these days.` },
  );
}

function source({ tenant, source, kind }: ReportRow): Markup {
  return markup`<a href="/leads${queryOf({ tenant, source, kind })}">${tenant}<br>${shown(source)}</a>${
    kind === "form" && markup` <span class="quiet">forms</span>`
  }`;
}

function figures(row: Figures): (string | Markup)[] {
  const { accepted, delivered, pending, dead, held, duplicates, collisions } = row;
  return [
    ...[accepted, delivered, pending].map(count),
    dead === 0 ? "0" : markup`<a href="/dead">${count(dead)}</a>`,
    held === 0 ? "0" : markup`<a href="/held">${count(held)}</a>`,
    count(duplicates),
    collisions === 0 ? "0" : markup`<a href="/collisions">${count(collisions)}</a>`,
    refusals(refusedPosts(row)),
    refusals(fieldFaults(row)),
    dollars(row.spend_cents),
  ];
}

function refusals(all: ReportRow["refused"]): Markup {
  const named = all.toSorted((a, b) => b.count - a.count).slice(0, reasonsNamed);
  return markup`${count(sumOf(all))}${
    named.map((one) => markup`<br><span class="quiet">${refusalText(one)}: ${count(one.count)}</span>`)
  }${all.length > named.length && markup`<br><span class="quiet">and others</span>`}`;
}

function median({ seconds_to_delivery: seconds }: ReportRow): string {
  return seconds === null ? "–" : duration(Math.round(seconds.median * 1_000));
}

function byDay(rows: readonly ReportRow[]): Markup {
  const days = [...Map.groupBy(rows, ({ day }) => day)];
  return table(
    ["Day", ">Accepted", ">Delivered", ">Dead", ">Refused posts", ">Spend"],
    days.map(([day, ofDay]) => {
      const all = addedUp(ofDay);
      const { accepted, delivered, dead, spend_cents: cents } = all;
      return {
        cells: [
          day,
          ...[accepted, delivered, dead, sumOf(refusedPosts(all))].map(count),
          dollars(cents),
        ],
      };
    }),
    { label: "By day", empty: markup`Nothing came in these days.` },
  );
}

const counts = [
  "accepted",
  "delivered",
  "pending",
  "dead",
  "held",
  "duplicates",
  "collisions",
  "spend_cents",
] as const satisfies readonly (keyof ReportRow)[];

type Figures = Readonly<Record<typeof counts[number], number>> & Pick<ReportRow, "refused">;

function addedUp(rows: readonly ReportRow[]): Figures {
  const reasons = Map.groupBy(rows.flatMap(({ refused }) => refused), refusalText);
  return {
    ...Object.fromEntries(
      counts.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
    ) as Record<typeof counts[number], number>,
    refused: [...reasons.values()].map((same) => ({
      ...(same[0] as ReportRow["refused"][number]),
      count: same.reduce((sum, one) => sum + one.count, 0),
    })),
  };
}
