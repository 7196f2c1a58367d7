/** `/forms`: the form definitions. */

import { type Markup, markup } from "../../http/markup.ts";
import { listForms } from "../../store/operator/form_definitions.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { parseQuery, queryString, selectedTenant, tenantFilter } from "./request.ts";
import {
  formatCount,
  type PageClock,
  safeText,
  shownOf,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";

const listedMax = 1_000;

export async function formsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await selectedTenant(parts.pool, parseQuery(query, ["tenant"]));
  return {
    title: "Forms",
    body: markup`<h1>Forms</h1>
<p>Forms that accept submissions, and the spam score from which each form holds them. To add a form, run
<code>ctl form add TENANT FORM_KEY --required name,email</code>.</p>
${await tenantFilter(parts.pool, "/forms", tenant.slug)}
${formTable(await listForms(parts.pool, tenant.id), { clock, tenant: tenant.slug })}`,
  };
}

/** Renders form definitions; `tenant`: the only tenant's slug, if any. */
export function formTable(
  forms: Awaited<ReturnType<typeof listForms>>,
  { clock, tenant }: { readonly clock: PageClock; readonly tenant: string | null },
): Markup {
  return table(
    [
      ...(tenant === null ? ["Tenant"] : []),
      "Form",
      "Required",
      "Held from score",
      "Blocked words",
      "Created",
      "View",
    ],
    forms.slice(0, listedMax).map((form) => ({
      cells: [
        ...(tenant === null ? [tenantLink(form.tenant)] : []),
        safeText(form.formKey),
        form.required.map((name, index) => markup`${index > 0 && ", "}${safeText(name)}`),
        form.threshold === null ? "the service's default" : formatCount(form.threshold),
        form.blocked.length === 0 ? "–" : truncated(form.blocked.join(", "), 80),
        timeElement(form.createdAt, clock),
        markup`<a href="/leads${
          queryString({ tenant: form.tenant, kind: "form" })
        }">submissions</a>, <a href="/held${queryString({ tenant: form.tenant })}">held</a>`,
      ],
    })),
    {
      label: "Forms",
      empty: markup`No forms${tenant !== null && markup` for this tenant`}.`,
      caption: shownOf(forms.length, listedMax),
    },
  );
}
