/** The tenants' forms, as they are defined. */

import { markup } from "../../http/markup.ts";
import { listForms } from "../../store/operator/form_definitions.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { chosenTenant, parseQuery, queryOf, tenantFilter } from "./request.ts";
import { count, shortened, shown, time } from "./text.ts";

const listedMax = 1_000;

/** `/forms` */
export async function formsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const forms = await listForms(parts.pool, tenant.id);
  return {
    title: "Forms",
    body: markup`<h1>Forms</h1>
<p>Where submissions go, and the score from which they are held. To add a form:
<code>ctl form add TENANT FORM_KEY --required name,email</code>.</p>
${await tenantFilter(parts.pool, "/forms", tenant.slug)}
${
      table(
        ["Tenant", "Form", "Required", "Held from score", "Blocked words", "Defined", "See"],
        forms.slice(0, listedMax).map((form) => ({
          cells: [
            form.tenant,
            shown(form.formKey),
            form.required.map((name, index) => markup`${index > 0 && ", "}${shown(name)}`),
            form.threshold === null ? "the service's default" : count(form.threshold),
            form.blocked.length === 0 ? "–" : shortened(form.blocked.join(", "), 80),
            time(form.createdAt, clock),
            markup`<a href="/leads${
              queryOf({ tenant: form.tenant, kind: "form" })
            }">submissions</a>, <a href="/held${queryOf({ tenant: form.tenant })}">held</a>`,
          ],
        })),
        {
          label: "Forms",
          empty: markup`There are no forms${tenant.slug !== null && markup` of this tenant`}.`,
          caption: forms.length > listedMax ? `${count(listedMax)} of ${count(forms.length)}` : undefined,
        },
      )
    }`,
  };
}
