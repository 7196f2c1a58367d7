/**
 * Form submissions that are held back as spam, for somebody to judge: release, or dismiss.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import {
  countHeld,
  dismissSubmission,
  type HeldPlace,
  type HeldSubmission,
  listHeld,
  releaseSubmission,
} from "../../store/operator/held.ts";
import {
  actionForm,
  backFrom,
  chosenTenant,
  idShape,
  type NoteCode,
  parseQuery,
  queryOf,
  readForm,
  tenantFilter,
} from "./request.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { choice, type ConsolePage, RefusedPage, table } from "./layout.ts";
import { badges, boundedText, count, type PageClock, shortened, shown, time } from "./text.ts";

const listedMax = 100;
const placeShape = /^(-?\d{1,9})\.([0-9a-z]{8,64})$/;

/** `/held` */
export async function heldPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const form = parseQuery(query, ["tenant", "after"]);
  const after = placeOf(form.shaped("after", placeShape));
  const tenant = await chosenTenant(pool, form);
  const found = await listHeld(pool, { tenantId: tenant.id, limit: listedMax + 1, after });
  const held = found.slice(0, listedMax);
  const last = held.at(-1);
  const total = await countHeld(pool, tenant.id);
  return {
    title: "Held submissions",
    body: markup`<h1>Held submissions</h1>
<p>What was taken for spam, or filled in the hidden field: stored, not delivered, and its sender was told nothing of it.
The lowest scores stand first: few of them are spam by their words, but what filled the hidden field was a program,
whatever its score. <em>Release</em> one, and it is delivered as if it had never been held;
<em>dismiss</em> it, and it stays held, is found by the search, and stands here no more.</p>
${await tenantFilter(pool, "/held", tenant.slug)}
${
      actionForm(
        { tokens, path: "/held/judge", hidden: { tenant: tenant.slug } },
        markup`${
          table(
            [
              "Choose",
              ">Score",
              "Reasons and text",
              "Submission",
              "Tenant, form and source",
              "!Judge",
            ],
            held.map((one) => ({ cells: cells(one, clock) })),
            {
              label: "Held submissions",
              empty: markup`Nothing waits to be judged${
                tenant.slug !== null && markup` of this tenant`
              }: nothing to do.`,
              caption: total.count > held.length
                ? `${count(held.length)} of ${boundedText(total)}`
                : undefined,
            },
          )
        }
${
          held.length > 0 &&
          markup`<div class="row"><button class="main" name="release" value="chosen">Release the chosen ones</button><button
 name="dismiss" value="chosen">Dismiss the chosen ones</button>${
            found.length > listedMax && last !== undefined &&
            markup`<a class="button" href="/held${
              queryOf({ tenant: tenant.slug, after: `${last.score}.${last.submissionId}` })
            }">Higher scores</a>`
          }</div>`
        }
`,
      )
    }${legend(held, parts)}`,
  };
}

function placeOf(text: string | null): HeldPlace | null {
  const [, score, submissionId] = placeShape.exec(text ?? "") ?? [];
  return submissionId === undefined ? null : { score: Number(score), submissionId };
}

function cells(one: HeldSubmission, clock: PageClock): Markup[] {
  const { submissionId } = one;
  return [
    choice("submission_id", submissionId, `Choose ${submissionId}`),
    markup`${count(one.score)}`,
    markup`${badges(one.reasons)}${
      one.excerpt.trim() !== "" &&
      markup`<details><summary>Text</summary>${shortened(one.excerpt, 80)}</details>`
    }`,
    markup`<a class="id" href="/leads/${submissionId}">${submissionId}</a><br><span class="quiet">received</span> ${
      time(one.receivedAt, clock)
    }`,
    markup`${one.tenant}, ${shown(one.formKey)}<br><span class="quiet">${shown(one.source)}</span>`,
    markup`<div class="row"><button name="release" value="${submissionId}" aria-label="Release ${submissionId}">Release</button><button
 name="dismiss" value="${submissionId}" aria-label="Dismiss ${submissionId}">Dismiss</button></div>`,
  ];
}

/** What the reasons on a page mean, each once. */
function legend(held: readonly HeldSubmission[], parts: ConsoleParts): Markup {
  const names = [...new Set(held.flatMap((one) => one.reasons))].sort();
  if (names.length === 0) return markup``;
  return markup`<h2>What the reasons mean</h2>
<p class="quiet">The score is what the content earned, also where the hidden field decided (honeypot filled).</p>
${reasons(names, parts)}`;
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

const judgements = {
  release: { judge: releaseSubmission, done: "released" },
  dismiss: { judge: dismissSubmission, done: "dismissed" },
} as const satisfies Record<string, { readonly judge: unknown; readonly done: NoteCode }>;

/** `POST /held/judge`: one or those chosen, from the list or from a submission's own page. */
export async function judgeAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/held/judge",
    names: ["submission_id", "release", "dismiss", "tenant", "page"],
  });
  const verb = form.text("release") === null ? "dismiss" : "release";
  const which = form.text(verb);
  const ids = which === "chosen" ? [...new Set(form.all("submission_id"))] : [which ?? ""];
  if (ids.length > listedMax || ids.some((id) => !idShape.test(id))) {
    throw new RefusedPage(400, "These are no submission ids", markup`<p>Nothing was changed.</p>`);
  }
  const only = which === "chosen" ? null : which;
  const back = await backFrom(parts.pool, form, { list: "/held", only, tokens });
  if (ids.length === 0) return back("none_chosen");
  const { judge, done } = judgements[verb];
  let judged = 0;
  for (const id of ids) {
    // Each with its audit row in a transaction of its own: what an outage cuts short is repeated without harm.
    if (await judge(parts.pool, id, exchange.clientAddress) === done) judged += 1;
  }
  return back(judged === 0 ? "none_held" : done, judged);
}
