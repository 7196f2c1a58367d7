/** `/tenants` and `/tenants/{slug}`: the tenants, and a tenant's routes with their last responses. */

import { type Markup, markup } from "../../http/markup.ts";
import { effectName } from "../../store/operator/event_effects.ts";
import {
  findLastEvent,
  readRouteStates,
  readSuspendedRoutes,
  type RouteState,
  type SuspendedRoute,
} from "../../store/operator/route_states.ts";
import { type Pause, readPauses } from "../../store/operator/pauses.ts";
import { listTenants } from "../../store/operator/tenants.ts";
import type { Context } from "./context.ts";
import { dryRunForm } from "./dry_run.ts";
import { type ConsolePage, table, type TableRow } from "./layout.ts";
import { pauseName, pauseSection } from "./pause.ts";
import { noSuchTenant, parseQuery, queryString } from "./request.ts";
import { scopeText, suspensionFix, suspensionNames, suspensionText } from "./suspensions.ts";
import {
  badge,
  formatCount,
  type PageClock,
  reasonBadge,
  reasonText,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";

const listedMax = 1_000;

/** The pages that show a tenant's part. */
const views = [
  ["/leads", "Leads"],
  ["/dead", "Dead letters"],
  ["/held", "Held"],
  ["/report", "Report"],
  ["/keys", "Keys"],
  ["/forms", "Forms"],
] as const;

type Tenant = Awaited<ReturnType<typeof listTenants>>[number];

/** Renders the page `/tenants`. */
export async function tenantsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const [tenants, suspended, pauses] = await Promise.all([
    listTenants(parts.pool),
    readSuspendedRoutes(parts.pool),
    readPauses(parts.pool, null),
  ]);
  return {
    title: "Tenants",
    body: markup`<h1>Tenants</h1>
<p><code>ctl tenant add SLUG --name NAME</code> adds a tenant; <code>ctl tenant route SLUG …</code> sets where its leads are
sent.</p>
${
      table(
        ["Tenant", "Name", "State", "Created"],
        tenants.slice(0, listedMax).map((tenant) => {
          const isOfTenant = (one: { readonly tenant: string }) => one.tenant === tenant.slug;
          const badges = stateBadges(tenant, suspended.filter(isOfTenant), pauses.filter(isOfTenant));
          return {
            className: tenant.disabledAt === null ? undefined : "off",
            cells: [
              tenantLink(tenant.slug),
              safeText(tenant.name),
              badges.length === 0 ? "active" : badges,
              timeElement(tenant.createdAt, clock),
            ],
          };
        }),
        {
          label: "Tenants",
          empty: markup`No tenants yet.`,
          caption: tenants.length > listedMax
            ? `${formatCount(listedMax)} of ${formatCount(tenants.length)}`
            : undefined,
        },
      )
    }`,
  };
}

/** Returns the badges of a tenant that is not simply active. */
function stateBadges(
  { sandbox, hasRoute, disabledAt }: Tenant,
  suspended: readonly SuspendedRoute[],
  pauses: readonly Pause[],
): Markup[] {
  const names = new Set(suspended.map(({ suspension }) => suspensionNames[suspension.reason]));
  return [
    ...(disabledAt !== null ? [reasonBadge("disabled")] : []),
    ...pauses.map((pause) => reasonBadge(pauseName(pause))),
    ...(sandbox ? [reasonBadge("sandbox")] : []),
    ...(!sandbox && !hasRoute ? [reasonBadge("no route", "bad")] : []),
    ...[...names].map((name) => reasonBadge(`CRM ${name}`, "bad")),
  ];
}

/** Renders the page `/tenants/{slug}`. */
export async function tenantPage(context: Context): Promise<ConsolePage> {
  const { parts, exchange, query, clock } = context;
  parseQuery(query, []);
  const tenant = (await listTenants(parts.pool)).find(({ slug }) => slug === exchange.params.slug);
  if (tenant === undefined) {
    throw noSuchTenant();
  }
  const { slug } = tenant;
  const [routes, pauses, lastEventId] = await Promise.all([
    readRouteStates(parts.pool, tenant.id),
    readPauses(parts.pool, tenant.id),
    findLastEvent(parts.pool, tenant.id),
  ]);
  const hasNarrower = routes.some((route) => scopeText(route) !== null);
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
<h2>Routes</h2>
${
      table(
        ["Receives", "Destination", "Last response", "Response"],
        routes.map((route) => routeRow(route, { clock, isAlone: !hasNarrower })),
        {
          label: "Routes",
          empty: tenant.sandbox
            ? markup`A sandbox tenant has no routes: its leads are not sent anywhere.`
            : markup`No routes: its leads wait. <code>ctl tenant route ${slug} …</code> adds one and sends them immediately.`,
        },
      )
    }
${routes.length > 0 && dryRunForm(context, { tenant: slug, lastEventId })}
${pauseSection(context, { slug, pauses, kinds: routes.map(({ kind }) => kind) })}`,
  };
}

function routeRow(
  route: RouteState,
  { clock, isAlone }: { readonly clock: PageClock; readonly isAlone: boolean },
): TableRow {
  const { kind, target, suspension, last, changedAt } = route;
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
        }${
          last.reason !== null && markup`<br>${reasonText(last.reason)}`
        }<br><a class="id" href="/leads/${last.eventId}">${last.eventId}</a>`,
      last === null || last.answer === null || last.answer === ""
        ? markup`<span class="quiet">–</span>`
        : markup`<code>${truncated(last.answer, 200)}</code>`,
    ],
  };
}
