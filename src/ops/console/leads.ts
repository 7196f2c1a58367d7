/**
 * Leads and submissions, the newest first.
 *
 * @module
 */

import { markup } from "../../http/markup.ts";
import { listLeads } from "../../store/admin/events.ts";
import type { Context } from "./context.ts";
import { type Page, table } from "./layout.ts";
import { parseQuery } from "./query.ts";
import { badge, badges } from "./state.ts";
import { chosenTenant, tenantFilter } from "./tenants.ts";
import { shown, time } from "./text.ts";

const listedMax = 100;

/** `/leads` */
export async function leadsPage({ parts, query, nowMs }: Context): Promise<Page> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const found = await listLeads(parts.pool, {
    tenantId: tenant.id,
    kind: null,
    since: null,
    limit: listedMax,
  });
  return {
    title: "Leads",
    section: "leads",
    body: markup`<h1>Leads and submissions</h1>
${await tenantFilter(parts.pool, "/leads", tenant.slug)}
${
      table(
        ["Received", "Event", "Kind", "Tenant", "Source", "State", "Flags"],
        found.map((one) => ({
          cells: [
            time(one.receivedAt, nowMs),
            markup`<a class="id" href="/leads/${one.eventId}">${one.eventId}</a>`,
            one.kind,
            one.tenant,
            shown(one.source),
            badge(one.state),
            badges(one.flags),
          ],
        })),
        { label: "Leads and submissions", empty: markup`Nothing was accepted yet.` },
      )
    }`,
  };
}
