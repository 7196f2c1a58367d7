/** The vocabulary of `project_area`: its terms, and the unknown terms that callers send. */

import { type Markup, markup } from "../../http/markup.ts";
import {
  confirmAreaAs,
  groupTerms,
  listAreas,
  listUnknownAreas,
  type Term,
  type UnknownTerm,
} from "../../store/operator/vocabulary.ts";
import {
  actionForm,
  type NoteCode,
  parseQuery,
  readForm,
  selectedTenant,
  tenantFilter,
  type Tokens,
  withNote,
} from "./request.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, table } from "./layout.ts";
import { formatCount, type PageClock, pluralize, safeText, tenantLink, timeElement } from "./text.ts";

// The maximum number of rows to read; each row is for a tenant and a spelling.
const rowsReadMax = 10_000;
const listedMax = 200;
const tenantsListedMax = 5;
const areasMax = 2_000;

/** Renders the page `/vocabulary`. */
export async function vocabularyPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await selectedTenant(parts.pool, parseQuery(query, ["tenant"]));
  const terms = groupTerms(await listUnknownAreas(parts.pool, { tenantId: tenant.id, limit: rowsReadMax }));
  const areas = await listAreas(parts.pool);
  return {
    title: "Vocabulary",
    body: markup`<h1>Vocabulary</h1>
<h2>Unknown terms</h2>
<p>Values of <code>project_area</code> that callers sent but the vocabulary does not contain. Their leads were accepted and flagged.
A term that you add is no longer flagged. Its status is <em>confirmed</em>, or <em>proposed</em> while it waits to be
ratified. Of each key, 1,000 new terms a day are kept; (other) counts the leads with further ones.</p>
${await tenantFilter(parts.pool, "/vocabulary", tenant.slug)}
${
      table(
        ["Term", ">Leads", "Sent by", "Last", "!Add to the vocabulary"],
        terms.slice(0, listedMax).map((term) => ({ cells: unknownCells(term, { tokens, clock }) })),
        {
          label: "Unknown terms",
          empty: markup`No unknown terms.`,
          caption: terms.length > listedMax
            ? `The ${formatCount(listedMax)} most frequent of ${formatCount(terms.length)}`
            : undefined,
        },
      )
    }
<h2>Terms in the vocabulary</h2>
<p>${
      pluralize(areas.filter(({ status }) => status !== "retired").length, "term")
    } in use. To retire a term or change its spelling, use the
command: <code>ctl vocabulary retire AREA</code>, <code>ctl vocabulary add AREA</code>.</p>
${proposedTable(areas, tokens)}
${termList(areas, "confirmed")}${termList(areas, "retired")}`,
  };
}

/** Renders the terms to be ratified. */
function proposedTable(areas: readonly Term[], tokens: Tokens): Markup {
  const rows = areas.filter(({ status }) => status === "proposed").slice(0, areasMax);
  return table(
    ["Proposed", "!Ratify"],
    rows.map(({ area }) => ({ cells: [safeText(area), ratifyForm(area, tokens)] })),
    { label: "Proposed terms", empty: markup`No proposed terms.` },
  );
}

function termList(areas: readonly Term[], status: "confirmed" | "retired"): Markup {
  const terms = areas.filter((area) => area.status === status);
  if (terms.length === 0) return markup``;
  return markup`<h3>${status === "confirmed" ? "Confirmed" : "Retired"}: ${formatCount(terms.length)}</h3>
<ul class="terms">${terms.slice(0, areasMax).map(({ area }) => markup`<li>${safeText(area)}</li>`)}</ul>`;
}

function unknownCells(
  { term, count, tenants, lastAt }: UnknownTerm,
  { tokens, clock }: { tokens: Tokens; clock: PageClock },
): Markup[] {
  const moreCount = tenants.length - tenantsListedMax;
  return [
    term === null ? markup`(other)` : safeText(term),
    markup`${formatCount(count)}`,
    markup`${
      tenants.slice(0, tenantsListedMax).map(({ tenant, count: tenantCount }, index) =>
        markup`${index > 0 && ", "}${tenantLink(tenant)} ${formatCount(tenantCount)}`
      )
    }${moreCount > 0 && ` and ${formatCount(moreCount)} more`}`,
    timeElement(lastAt, clock),
    term === null ? markup`` : actionForm(
      { tokens, path: "/vocabulary/add", hidden: { area: term } },
      markup`<span class="row"><button name="status" value="confirmed">Confirm</button><button
 name="status" value="proposed">Propose</button></span>`,
    ),
  ];
}

function ratifyForm(area: string, tokens: Tokens): Markup {
  return actionForm(
    { tokens, path: "/vocabulary/add", hidden: { area } },
    markup`<button name="status" value="confirmed">Confirm</button>`,
  );
}

/** `POST /vocabulary/add`: adds a term or ratifies a proposed one. */
export async function addTermAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: "/vocabulary/add", names: ["area", "status"] });
  const area = form.text("area");
  const status = form.oneOf("status", ["confirmed", "proposed"]);
  if (area === null || status === null) {
    throw new RefusedPage(400, "The form has no term", markup`<p>Nothing was changed.</p>`);
  }
  const outcome = await confirmAreaAs(parts.pool, operator, { area, status });
  const code: NoteCode = outcome === "done" ? status : `area_${outcome}`;
  return withNote("/vocabulary", { tokens, code });
}
