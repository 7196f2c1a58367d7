/** `/tenants`: the list of tenants. */

import { type Markup, markup } from "../../http/markup.ts";
import { readSuspendedRoutes, type SuspendedRoute } from "../../store/operator/route_states.ts";
import { type Pause, readPauses } from "../../store/operator/pauses.ts";
import { listTenants, type Tenant } from "../../store/operator/tenants.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { pauseName } from "./pause.ts";
import { parseQuery } from "./request.ts";
import { suspensionNames } from "./suspensions.ts";
import { reasonBadge, safeText, shownOf, tenantLink, timeElement } from "./text.ts";

const listedMax = 1_000;

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
          caption: shownOf(tenants.length, listedMax),
        },
      )
    }`,
  };
}

/** Returns the badges of a tenant that is not simply active. */
export function stateBadges(
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
