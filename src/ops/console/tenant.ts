/** `/tenants/{slug}`: everything about one customer: state, figures, last leads, routes, keys, forms and campaigns. */

import { type Markup, markup } from "../../http/markup.ts";
import { listKeys } from "../../store/operator/api_keys.ts";
import { readOpenCollisions } from "../../store/operator/collisions.ts";
import { effectName } from "../../store/operator/event_effects.ts";
import { newestEventIds, readEvents } from "../../store/operator/events.ts";
import { listForms } from "../../store/operator/form_definitions.ts";
import { readHeldCounts } from "../../store/operator/held.ts";
import { readBacklog } from "../../store/operator/overview.ts";
import { readPauses } from "../../store/operator/pauses.ts";
import {
  findLastEvent,
  readRouteStates,
  type RouteState,
  type SuspendedRoute,
} from "../../store/operator/route_states.ts";
import { listCampaigns, readTenant, type Tenant } from "../../store/operator/tenants.ts";
import type { Pool } from "../../store/pool.ts";
import type { Context } from "./context.ts";
import { dryRunForm } from "./dry_run.ts";
import { eventTable } from "./event_rows.ts";
import { formTable } from "./forms.ts";
import { keyTable } from "./keys.ts";
import { type ConsolePage, table, type TableRow, tile } from "./layout.ts";
import { pauseSection } from "./pause.ts";
import { parseQuery, queryString, slugPattern } from "./request.ts";
import { scopeText, suspensionFix, suspensionNames, suspensionText } from "./suspensions.ts";
import { stateBadges } from "./tenants.ts";
import {
  badge,
  eventLink,
  formatBoundedCount,
  formatCents,
  formatCount,
  type PageClock,
  pluralize,
  reasonBadge,
  reasonText,
  safeText,
  shownOf,
  timeElement,
  truncated,
} from "./text.ts";
import { notFound } from "./wrong_id.ts";

const lastLeadsMax = 10;
const campaignsListedMax = 100;

/** The other pages that show a tenant's part. */
const views = [
  ["/leads", "Leads"],
  ["/report", "Report"],
  ["/statement", "Statement"],
  ["/audit", "Audit"],
] as const;

/** Renders the page `/tenants/{slug}`. */
export async function tenantPage(context: Context): Promise<ConsolePage> {
  const { parts, exchange, query, clock } = context;
  const { pool } = parts;
  parseQuery(query, []);
  const slug = exchange.params.slug ?? "";
  const tenant = slugPattern.test(slug) ? await readTenant(pool, slug) : null;
  if (tenant === null) throw notFound("tenant", slug);
  const { id } = tenant;
  const [routes, pauses, lastEventId, figures, lastIds, keys, forms, campaigns] = await Promise.all([
    readRouteStates(pool, id),
    readPauses(pool, id),
    findLastEvent(pool, id),
    figureTiles(pool, tenant),
    newestEventIds(pool, { tenantId: id, limit: lastLeadsMax }),
    listKeys(pool, id),
    listForms(pool, id),
    listCampaigns(pool, id),
  ]);
  const lastLeads = (await readEvents(pool, lastIds, { withRaw: false })).filter((event) => event !== null);
  const suspended = routes.filter((route): route is SuspendedRoute => route.suspension !== null);
  return {
    title: `Tenant ${slug}`,
    body: markup`<h1>${safeText(tenant.name)} <span class="quiet">tenant ${slug}</span> ${
      stateBadges(tenant, suspended, pauses)
    }</h1>
<div class="row">${
      views.map(([path, name]) =>
        markup`<a class="button" href="${path}${queryString({ tenant: slug })}">${name}</a>`
      )
    }</div>
${
      suspended.map((route) =>
        markup`<div class="bad message"><p>${
          suspensionText(route, { nowMs: clock.nowMs, quoteMax: 500 })
        }</p><p>${suspensionFix(route)}</p></div>
`
      )
    }
${figures}
${tenantFacts(tenant, clock)}
<h2>Last leads and submissions</h2>
${
      eventTable(lastLeads, {
        clock,
        isOfTenant: true,
        label: "Last leads and submissions",
        empty: markup`None yet.`,
      })
    }
<h2>Routes</h2>
${routeTable(routes, { tenant, clock })}
${
      routes.length > 0 &&
      markup`${dryRunForm(context, { tenant: slug, lastEventId })}
<p class="quiet">To send a marked test lead to the recipients, run <code>ctl tenant route ${slug} --test</code>.</p>`
    }
${pauseSection(context, { slug, pauses, kinds: routes.map(({ kind }) => kind) })}
<h2>Keys</h2>
${keyTable(keys, { clock, tenant: slug })}
<h2>Forms</h2>
${formTable(forms, { clock, tenant: slug })}
<h2>Campaigns</h2>
${
      table(
        ["Campaign", ">Gross", ">Credits", ">Net", "Created"],
        campaigns.slice(0, campaignsListedMax).map((
          { campaign, spendCents, creditCents, netCents, createdAt },
        ) => ({
          cells: [
            campaign,
            formatCents(spendCents),
            formatCents(creditCents),
            formatCents(netCents),
            timeElement(createdAt, clock),
          ],
        })),
        {
          label: "Campaigns",
          empty: markup`No campaigns. <code>ctl campaign add SLUG --tenant ${slug}</code> adds one.`,
          caption: shownOf(campaigns.length, campaignsListedMax),
        },
      )
    }`,
  };
}

/** Counts what waits for a delivery or for an operator, each with a link to its list. */
async function figureTiles(pool: Pool, { id, slug }: Tenant): Promise<Markup> {
  const [backlog, held, collisions] = await Promise.all([
    readBacklog(pool, id),
    readHeldCounts(pool, id),
    readOpenCollisions(pool),
  ]);
  const { waiting, dead } = backlog ?? { waiting: none, dead: none };
  const openCount = collisions.filter(({ tenant }) => tenant === slug).reduce(
    (sum, one) => sum + one.count,
    0,
  );
  const link = (path: string, filter: Readonly<Record<string, string>>, text: string) =>
    markup`<a href="${path}${queryString({ tenant: slug, ...filter })}">${text}</a>`;
  return markup`<dl class="tiles">
${
    tile("Waiting", formatBoundedCount(waiting), {
      small: link("/leads", { state: "pending" }, "not yet delivered"),
    })
  }
${
    tile("Dead", formatBoundedCount(dead), {
      tone: dead.count > 0 ? "bad" : null,
      small: link("/dead", {}, "dead letters"),
    })
  }
${
    tile("Held", formatBoundedCount(held.toReview), {
      small: markup`${link("/held", {}, "held as spam, to review")}${
        held.honeypotHits.count > 0 && markup`; ${formatBoundedCount(held.honeypotHits)} honeypot hits apart`
      }`,
    })
  }
${
    tile("Collisions", formatCount(openCount), {
      tone: openCount > 0 ? "bad" : null,
      small: link("/collisions", { show: "lost" }, "open, from another person"),
    })
  }
</dl>`;
}

const none = { count: 0, isMore: false };

function tenantFacts(tenant: Tenant, clock: PageClock): Markup {
  const { slug, sandbox, disabledAt, timeZone, digestAt, digestActions, retentionDays } = tenant;
  return markup`<dl class="facts">
<dt>State</dt><dd>${
    disabledAt === null
      ? "enabled"
      : markup`disabled ${timeElement(disabledAt, clock)}: its keys get 401, which partners do not retry`
  }${sandbox && markup`; a sandbox, whose leads are not sent anywhere`}</dd>
<dt>Time zone</dt><dd>${timeZone}</dd>
<dt>Daily digest</dt><dd>${
    digestAt === null
      ? "none"
      : `at ${digestAt}${digestActions ? ", with links that release submissions" : ""}`
  }</dd>
<dt>Content is kept</dt><dd>${
    retentionDays === null ? "forever" : `for ${pluralize(retentionDays, "day")}`
  }</dd>
<dt>Created</dt><dd>${timeElement(tenant.createdAt, clock)}</dd>
</dl>
<p class="quiet">To change them, run <code>ctl tenant set ${slug} …</code>.</p>`;
}

function routeTable(
  routes: readonly RouteState[],
  { tenant, clock }: { readonly tenant: Tenant; readonly clock: PageClock },
): Markup {
  const isAlone = routes.every((route) => scopeText(route) === null);
  return table(
    ["Receives", "Destination", "Last response", "Last success", "Response"],
    routes.map((route) => routeRow(route, { clock, isAlone })),
    {
      label: "Routes",
      empty: tenant.sandbox
        ? markup`A sandbox tenant has no routes: its leads are not sent anywhere.`
        : markup`No routes: its leads wait. <code>ctl tenant route ${tenant.slug} …</code> adds one and sends them immediately.`,
    },
  );
}

function routeRow(
  route: RouteState,
  { clock, isAlone }: { readonly clock: PageClock; readonly isAlone: boolean },
): TableRow {
  const { kind, target, suspension, last, doneAt, changedAt } = route;
  return {
    className: suspension === null ? undefined : "stale",
    cells: [
      markup`<div class="words">${scopeText(route) ?? (isAlone ? "everything" : "everything else")}</div>`,
      markup`<div class="words"><strong>${effectName(kind)}</strong> ${safeText(target)}${
        suspension !== null && markup`<br>${reasonBadge(suspensionNames[suspension.reason], "bad")}`
      }</div>`,
      last === null
        ? markup`<span class="quiet">none since it was set</span> ${timeElement(changedAt, clock)}`
        : markup`${badge(last.state)}${last.status !== null && markup` <strong>${last.status}</strong>`} ${
          timeElement(last.settledAt, clock)
        }${last.reason !== null && markup`<br>${reasonText(last.reason)}`} ${eventLink(last.eventId)}`,
      timeElement(doneAt, clock),
      last === null || last.answer === null || last.answer === ""
        ? markup`<span class="quiet">–</span>`
        : markup`<code>${truncated(last.answer, 200)}</code>`,
    ],
  };
}
