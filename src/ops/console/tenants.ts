/**
 * The tenant as a filter of pages.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { findTenant, listTenants } from "../../store/operator/tenants.ts";
import type { Pool } from "../../store/pool.ts";
import { RefusedPage, select } from "./layout.ts";
import { type Query, slugShape } from "./query.ts";

/** A chosen tenant; both are `null` when all are meant. */
interface ChosenTenant {
  readonly slug: string | null;
  readonly id: number | null;
}

/**
 * The tenant that a form names.
 *
 * @throws {RefusedPage} of status 404 when there is none of that name
 */
export async function chosenTenant(pool: Pool, query: Query): Promise<ChosenTenant> {
  const slug = query.shaped("tenant", slugShape);
  if (slug === null) return { slug: null, id: null };
  const tenant = await findTenant(pool, slug);
  if (tenant === null) {
    throw new RefusedPage(
      404,
      "There is no such tenant",
      markup`<p>Choose one from the list of the page.</p>`,
    );
  }
  return { slug, id: tenant.id };
}

// A list longer than this is for a page's address or for ctl.
const optionsMax = 1_000;

/** A choice of tenants. */
export async function tenantSelect(pool: Pool, chosen: string | null): Promise<Markup> {
  const tenants = (await listTenants(pool)).slice(0, optionsMax);
  const options = tenants.map(({ slug }) => [slug, slug] as const);
  return select("tenant", [["", "all tenants"], ...options], { label: "Tenant", chosen });
}

/** The form that narrows a page to a tenant. */
export async function tenantFilter(pool: Pool, path: string, chosen: string | null): Promise<Markup> {
  return markup`<form class="filters" method="get" action="${path}">
${await tenantSelect(pool, chosen)}<div><button>Show</button></div></form>`;
}
