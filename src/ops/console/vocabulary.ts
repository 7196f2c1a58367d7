/** The vocabulary of `project_area`: what callers send that it does not know, and its own terms. */

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
  chosenTenant,
  type NoteCode,
  parseQuery,
  readForm,
  tenantFilter,
  type Tokens,
  withNote,
} from "./request.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, table } from "./layout.ts";
import { count, counted, type PageClock, shown, time } from "./text.ts";

// Rows by tenant and spelling that are read, and groups of them that are shown.
const readMax = 10_000;
const listedMax = 200;
const tenantsShown = 5;
const areasMax = 2_000;

/** `/vocabulary` */
export async function vocabularyPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const terms = groupTerms(await listUnknownAreas(parts.pool, { tenantId: tenant.id, limit: readMax }));
  const areas = await listAreas(parts.pool);
  return {
    title: "Vocabulary",
    body: markup`<h1>Vocabulary</h1>
<h2>Unknown terms</h2>
<p>What callers send as <code>project_area</code> and the vocabulary does not know. Their leads were accepted and flagged.
Both statuses are accepted alike and stop the flag: <em>confirmed</em> is a term used on purpose, <em>proposed</em> waits
to be ratified.</p>
${await tenantFilter(parts.pool, "/vocabulary", tenant.slug)}
${
      table(
        ["Term", ">Leads", "Sent by", "Last", "!Take into the vocabulary"],
        terms.slice(0, listedMax).map((term) => ({ cells: unknownCells(term, { tokens, clock }) })),
        {
          label: "Unknown terms",
          empty: markup`No unknown terms were sent.`,
          caption: terms.length > listedMax
            ? `The ${count(listedMax)} most frequent of ${count(terms.length)}`
            : undefined,
        },
      )
    }
<h2>Terms of the vocabulary</h2>
<p>${
      counted(areas.filter(({ status }) => status !== "retired").length, "term")
    } in use. Retire or re-spell one with the
command: <code>ctl vocabulary retire AREA</code>, <code>ctl vocabulary add AREA</code>.</p>
${proposed(areas, tokens)}
${termList(areas, "confirmed")}${termList(areas, "retired")}`,
  };
}

/** What waits to be ratified. */
function proposed(areas: readonly Term[], tokens: Tokens): Markup {
  const rows = areas.filter(({ status }) => status === "proposed").slice(0, areasMax);
  return table(
    ["Proposed", "!Ratify"],
    rows.map(({ area }) => ({ cells: [shown(area), ratify(area, tokens)] })),
    { label: "Proposed terms", empty: markup`No proposed terms.` },
  );
}

function termList(areas: readonly Term[], status: "confirmed" | "retired"): Markup {
  const terms = areas.filter((area) => area.status === status);
  if (terms.length === 0) return markup``;
  return markup`<h3>${status === "confirmed" ? "Confirmed" : "Retired"}: ${count(terms.length)}</h3>
<ul class="terms">${terms.slice(0, areasMax).map(({ area }) => markup`<li>${shown(area)}</li>`)}</ul>`;
}

function unknownCells(
  { term, count: sent, tenants, lastAt }: UnknownTerm,
  { tokens, clock }: { tokens: Tokens; clock: PageClock },
): Markup[] {
  const more = tenants.length - tenantsShown;
  return [
    shown(term),
    markup`${count(sent)}`,
    markup`${
      tenants.slice(0, tenantsShown).map(({ tenant, count: n }, index) =>
        markup`${index > 0 && ", "}${tenant} ${count(n)}`
      )
    }${more > 0 && ` and ${count(more)} more`}`,
    time(lastAt, clock),
    actionForm(
      { tokens, path: "/vocabulary/add", hidden: { area: term } },
      markup`<span class="row"><button name="status" value="confirmed">Confirm</button><button
 name="status" value="proposed">Propose</button></span>`,
    ),
  ];
}

function ratify(area: string, tokens: Tokens): Markup {
  const hidden = { area };
  return actionForm(
    { tokens, path: "/vocabulary/add", hidden },
    markup`<button name="status" value="confirmed">Confirm</button>`,
  );
}

/** `POST /vocabulary/add` */
export async function addTermAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: "/vocabulary/add", names: ["area", "status"] });
  const area = form.text("area");
  const status = form.word("status", ["confirmed", "proposed"]);
  if (area === null || status === null) {
    throw new RefusedPage(400, "The form has no term", markup`<p>Nothing was changed.</p>`);
  }
  const outcome = await confirmAreaAs(parts.pool, exchange.clientAddress, { area, status });
  const code: NoteCode = outcome === "done" ? status : `area_${outcome}`;
  return withNote("/vocabulary", { tokens, code });
}
