/**
 * Form submissions that are held back as spam, and their release.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { countHeld, type HeldSubmission, listHeld, releaseSubmission } from "../../store/operator/held.ts";
import { readForm, tokenField } from "./action.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { type ConsolePage, RefusedPage, table } from "./layout.ts";
import { withNote } from "./notes.ts";
import { idShape, parseQuery, queryOf } from "./query.ts";
import { boundedText } from "./state.ts";
import { chosenTenant, tenantFilter } from "./tenants.ts";
import { count, type PageClock, shown, time } from "./text.ts";

const listedMax = 100;

/** `/held` */
export async function heldPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const form = parseQuery(query, ["tenant", "before"]);
  const before = form.shaped("before", idShape);
  const tenant = await chosenTenant(pool, form);
  const found = await listHeld(pool, { tenantId: tenant.id, limit: listedMax + 1, before });
  const held = found.slice(0, listedMax);
  const total = await countHeld(pool, tenant.id);
  const filter = await tenantFilter(pool, "/held", tenant.slug);
  return {
    title: "Held submissions",
    body: markup`<h1>Held submissions</h1>
<p>What was taken for spam, or filled in the hidden field: stored, not delivered, and its sender was told nothing of it.
The score is what the content earned, also where the hidden field decided. Look into one that may be a person; release it, and it is delivered as if it had never been held.</p>
${filter}
<form method="post" action="/held/release">
${tokenField(tokens, "/held/release")}
${tenant.slug !== null && markup`<input type="hidden" name="tenant" value="${tenant.slug}">`}
${
      table(
        [
          "Choose",
          "Reasons",
          { name: "Score", isNumber: true },
          "Submission",
          "Tenant, form and source",
          { name: "Release", isAction: true },
        ],
        held.map((one) => ({ cells: cells(one, { parts, clock }) })),
        {
          label: "Held submissions",
          empty: markup`Nothing is held${tenant.slug !== null && markup` of this tenant`}: nothing to do.`,
          caption: total.count > held.length ? `${count(held.length)} of ${boundedText(total)}` : undefined,
        },
      )
    }
${
      held.length > 0 &&
      markup`<div class="row"><button class="main">Release the chosen ones</button>${
        found.length > listedMax &&
        markup`<a class="button" href="/held${
          queryOf({ tenant: tenant.slug, before: held.at(-1)?.submissionId ?? null })
        }">Earlier</a>`
      }</div>`
    }
</form>`,
  };
}

function cells(one: HeldSubmission, { parts, clock }: { parts: ConsoleParts; clock: PageClock }): Markup[] {
  const { submissionId } = one;
  return [
    markup`<input type="checkbox" name="submission_id" value="${submissionId}" aria-label="Choose ${submissionId}">`,
    markup`<span class="badge warn">${one.verdict}</span>${reasons(one.reasons, parts)}`,
    markup`${count(one.score)}`,
    markup`<a class="id" href="/leads/${submissionId}">${submissionId}</a><br><span class="quiet">received</span> ${
      time(one.receivedAt, clock)
    }`,
    markup`${one.tenant}, ${shown(one.formKey)}<br><span class="quiet">${shown(one.source)}</span>`,
    markup`<button name="only" value="${submissionId}" aria-label="Release ${submissionId}">Release</button>`,
  ];
}

/** The reasons of a verdict with what they mean. */
export function reasons(names: readonly string[], parts: ConsoleParts): Markup {
  if (names.length === 0) return markup``;
  return markup`<ul class="reasons">${
    names.map((name) => {
      const meaning = parts.spamMeanings[name];
      return markup`<li><code>${shown(name)}</code>${
        meaning !== undefined && markup` <span class="quiet">${meaning}</span>`
      }</li>`;
    })
  }</ul>`;
}

/** `POST /held/release`: one or those chosen, from the list or from a submission's own page. */
export async function releaseAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/held/release",
    names: ["submission_id", "only", "tenant", "page"],
  });
  const only = form.shaped("only", idShape);
  const ids = only === null ? [...new Set(form.all("submission_id"))] : [only];
  if (ids.length > listedMax || ids.some((id) => !idShape.test(id))) {
    throw new RefusedPage(400, "These are no submission ids", markup`<p>Nothing was changed.</p>`);
  }
  const tenant = await chosenTenant(parts.pool, form);
  const isLead = form.oneOf("page", ["lead"]) !== null && only !== null;
  const back = isLead ? `/leads/${only}` : "/held";
  const query = isLead ? {} : { tenant: tenant.slug };
  if (ids.length === 0) return withNote(back, { tokens, code: "none_chosen", query });
  let released = 0;
  for (const id of ids) {
    // Each with its audit row in a transaction of its own: what an outage cuts short is repeated without harm.
    if (await releaseSubmission(parts.pool, id, exchange.clientAddress) === "released") released += 1;
  }
  return withNote(back, { tokens, code: released === 0 ? "none_held" : "released", count: released, query });
}
