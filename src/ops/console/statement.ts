/** `/statement`: a tenant's month, to read and to print. */

import { type Markup, markup } from "../../http/markup.ts";
import { monthAfter, monthBounds, monthOf, TimeZone, utc } from "../../http/time_zone.ts";
import { type Figures, refusedPosts, sumOf } from "../../store/operator/report_rows.ts";
import {
  readLabels,
  readStatement,
  type Statement,
  type StatementScope,
} from "../../store/operator/statement.ts";
import { statementScope } from "../statement.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { parseQuery, queryString, selectedTenant, sourceSelect, tenantSelect } from "./request.ts";
import { formatCount, moneyCells, monthName, safeText } from "./text.ts";

export async function statementPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["tenant", "month", "source"]);
  const tenant = await selectedTenant(parts.pool, form);
  const zone = tenant.slug === null ? clock.zone : new TimeZone(tenant.timeZone);
  const month = form.text("month") ?? monthAfter(monthOf(clock.nowMs, zone), -1);
  const source = form.text("source");
  const isMonth = monthBounds(month, utc) !== null;
  const labels = tenant.slug === null ? [] : await readLabels(parts.pool, tenant);
  // Such as one of another tenant that was selected before.
  const hasSource = source === null || tenant.slug === null || labels.includes(source);
  const filters = markup`<form class="filters" method="get" action="/statement">
${await tenantSelect(
    parts.pool,
    tenant.slug,
    "select a tenant",
  )}<div><label for="month">Month</label><input id="month" name="month" type="month" value="${month}"${
    !isMonth && markup` aria-invalid="true" aria-describedby="wrong"`
  }></div>
${sourceSelect(labels, source)}<div><button class="main">Show</button></div></form>`;
  if (!isMonth || !hasSource || tenant.slug === null) {
    return {
      status: isMonth && hasSource ? 200 : 400,
      title: "Statement",
      body: markup`<h1>Statement</h1>
${
        isMonth && hasSource
          ? markup`<p>Select a tenant to see what it owes for a month.</p>`
          : markup`<p class="bad message" role="alert" id="wrong">${
            isMonth
              ? markup`${tenant.slug} has no source ${safeText(source ?? "")} for leads.`
              : "The month must be a year and a month, such as 2026-11."
          }</p>`
      }
${filters}`,
    };
  }
  const scope = await statementScope(parts.pool, tenant, { month, source });
  const csv = queryString({ tenant: tenant.slug, month, source });
  const other = (count: number, text: string) =>
    markup`<a class="button" href="/statement${
      queryString({ tenant: tenant.slug, month: monthAfter(month, count), source })
    }">${text}</a>`;
  return {
    title: "Statement",
    body: markup`${filters}
${statementBody(scope, await readStatement(parts.pool, scope), Date.parse(scope.until) > clock.nowMs)}
<div class="row screen">${other(-1, "Previous month")}${
      other(1, "Next month")
    }<a class="button" href="/v1/statement${csv}">Download as CSV, one row a lead</a></div>`,
  };
}

function statementBody(
  { tenant, month, source }: StatementScope,
  { rows, total }: Statement,
  isUnfinished: boolean,
): Markup {
  return markup`<h1>Statement for ${monthName(month)}</h1>
<p><strong>${safeText(tenant.name)}</strong> (${tenant.slug})${
    source !== null && markup`, source ${safeText(source)}`
  }. The month is in the time zone ${tenant.timeZone}${
    isUnfinished && markup` and <strong>has not ended</strong>`
  }. A credit is for a returned lead, and counts in the month in which the lead was received. Form submissions cost nothing and are
left out.</p>
${
    table(
      ["Source", ">Accepted", ">Duplicates", ">Refused", ">Returned", ">Gross", ">Credit", ">Net"],
      [
        ...rows.map((row) => ({ cells: [safeText(row.source), ...figureCells(row)] })),
        { cells: [markup`<strong>Total</strong>`, ...figureCells(total)] },
      ],
      { label: "By source", empty: markup`` },
    )
  }`;
}

function figureCells(figures: Figures): string[] {
  const { accepted, duplicates, returned } = figures;
  return [
    formatCount(accepted),
    formatCount(duplicates),
    formatCount(sumOf(refusedPosts(figures))),
    formatCount(returned),
    ...moneyCells(figures),
  ];
}
