/** Form submissions that are held back as spam, for somebody to decide: release, or dismiss. */

import { attributionSources, formKeyName, honeypotName, startedAtName } from "../../contract/forms.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { fieldAliases, foldName } from "../../lead/field_aliases.ts";
import { normalizeLine } from "../../lead/text.ts";
import {
  countCorrections,
  countHeld,
  dismissSubmission,
  type HeldCursor,
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
  tenantSelect,
} from "./request.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { choice, type ConsolePage, RefusedPage, select, table } from "./layout.ts";
import { badges, boundedText, count, counted, type PageClock, shortened, shown, time } from "./text.ts";

const listedMax = 50;
const textLengthMax = 200;
const placeShape = /^(-?\d{1,9})\.([0-9a-z]{8,64})$/;
/** The reason of everything that filled in the hidden field. */
const honeypot = "honeypot_filled";

/** `/held` */
export async function heldPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const form = parseQuery(query, ["tenant", "reason", "choose", "after"]);
  const after = placeOf(form.shaped("after", placeShape));
  const tenant = await chosenTenant(pool, form);
  const names = Object.keys(parts.spamMeanings);
  const reason = form.word("reason", names);
  const isChosen = form.word("choose", ["all"]) !== null;
  const filter = { tenantId: tenant.id, verdict: verdictOf(reason), reason };
  const [found, total, trapped, corrected] = await Promise.all([
    listHeld(pool, { ...filter, limit: listedMax + 1, after }),
    countHeld(pool, filter),
    countHeld(pool, { tenantId: tenant.id, verdict: "honeypot" }),
    countCorrections(pool, tenant.id),
  ]);
  const held = found.slice(0, listedMax);
  const last = held.at(-1);
  const narrowed = { tenant: tenant.slug, reason };
  return {
    title: "Held submissions",
    body: markup`<h1>Held submissions</h1>
<p>Stored but not delivered; the senders got the usual answer. The most likely real ones come first.
<em>Release</em> delivers a submission as if it had never been held. <em>Dismiss</em> takes it off this list: it stays held,
and the search still finds it. The spam score learns from both.</p>
<p>Corrected in the last 30 days: ${counted(corrected.released, "held submission")} released, ${
      counted(corrected.reported, "delivered one", "delivered ones")
    } reported as spam.</p>
<form class="filters" method="get" action="/held">
${await tenantSelect(pool, tenant.slug)}${
      select("reason", [["", "any except the hidden field"], ...names.map((name) => [name, name] as const)], {
        label: "Reason",
        chosen: reason,
      })
    }<div><button>Show</button></div></form>
${
      actionForm(
        { tokens, path: "/held/review", hidden: narrowed },
        markup`${
          table(
            [
              "Select",
              "Sender and text",
              ">Spam",
              "Reasons",
              "Received from",
              "!Review",
            ],
            held.map((one) => ({ cells: cells(one, { clock, isChosen }) })),
            {
              label: "Held submissions",
              empty: markup`No submission waits for review${tenant.slug !== null && markup` of this tenant`}${
                reason !== null && markup` with this reason`
              }.`,
              caption: total.count > held.length
                ? `${count(held.length)} of ${boundedText(total)}`
                : undefined,
              isCompact: true,
            },
          )
        }
${
          held.length > 0 &&
          markup`<div class="row bar"><button class="main" name="release" value="chosen">Release selected</button><button
 name="dismiss" value="chosen">Dismiss selected</button><a class="button" href="/held${
            queryOf({ ...narrowed, choose: isChosen ? null : "all", after: form.text("after") })
          }">${isChosen ? "Select none" : "Select all"}</a>${
            found.length > listedMax && last !== undefined &&
            markup`<a class="button" href="/held${
              queryOf({ ...narrowed, after: `${last.score}.${last.submissionId}` })
            }">More likely spam</a>`
          }</div>`
        }
`,
      )
    }${
      reason !== honeypot && trapped.count > 0 &&
      markup`<p><a href="/held${queryOf({ tenant: tenant.slug, reason: honeypot })}">${
        boundedText(trapped)
      } filled in the hidden field</a>, <span class="quiet">which people cannot see</span></p>`
    }${legend(held, parts)}`,
  };
}

const verdictOf = (reason: string | null) => reason === honeypot ? "honeypot" as const : "spam" as const;

function placeOf(text: string | null): HeldCursor | null {
  const [, score, submissionId] = placeShape.exec(text ?? "") ?? [];
  return submissionId === undefined ? null : { score: Number(score), submissionId };
}

function cells(
  one: HeldSubmission,
  { clock, isChosen }: { readonly clock: PageClock; readonly isChosen: boolean },
): Markup[] {
  const { submissionId } = one;
  const { name, contact, text } = readFields(one.fields);
  const sender = [name, contact].filter((part) => part !== "").join(", ");
  return [
    choice("submission_id", submissionId, { label: `Choose ${submissionId}`, isChosen }),
    markup`<a href="/leads/${submissionId}">${sender === "" ? submissionId : shortened(sender)}</a>${
      text !== "" && markup`<div class="value">${shortened(text, textLengthMax)}</div>`
    }`,
    markup`${count(one.score)} %`,
    badges(one.reasons),
    markup`${time(one.receivedAt, clock)} <br>${one.tenant}, ${shown(one.formKey)} <span class="quiet">${
      shown(one.source)
    }</span>`,
    markup`<div class="row"><button name="release" value="${submissionId}" aria-label="Release ${submissionId}">Release</button><button
 name="dismiss" value="${submissionId}" aria-label="Dismiss ${submissionId}">Dismiss</button></div>`,
  ];
}

const technical: readonly string[] = [honeypotName, formKeyName, startedAtName, ...attributionSources];

/** Who sent a submission, and the longest of its other answers. */
function readFields(fields: HeldSubmission["fields"]) {
  const left = new Map(
    Object.entries(fields).filter(([name]) => !technical.includes(name)).map(([name, value]) =>
      [foldName(name), normalizeLine(value)] as const
    ),
  );
  const take = (what: keyof typeof fieldAliases) => {
    const known = fieldAliases[what].find((name) => left.get(name));
    const value = left.get(known ?? "") ?? "";
    if (known !== undefined) left.delete(known);
    return value;
  };
  const name = take("name") || `${take("first_name")} ${take("last_name")}`.trim();
  const contact = [take("email"), take("phone")].find((value) => value !== "") ?? "";
  return { name, contact, text: [...left.values()].reduce((a, b) => b.length > a.length ? b : a, "") };
}

/** What the reasons on a page mean, each once. */
function legend(held: readonly HeldSubmission[], parts: ConsoleParts): Markup {
  const names = [...new Set(held.flatMap((one) => one.reasons))].sort();
  if (names.length === 0) return markup``;
  return markup`<h2>What the reasons mean</h2>
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

const reviews = {
  release: { decide: releaseSubmission, done: "released" },
  dismiss: { decide: dismissSubmission, done: "dismissed" },
} as const satisfies Record<string, { readonly decide: unknown; readonly done: NoteCode }>;

/** `POST /held/review`: one or those chosen, from the list or from a submission's own page. */
export async function reviewAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/held/review",
    names: ["submission_id", "release", "dismiss", "tenant", "reason", "page"],
  });
  const verb = form.text("release") === null ? "dismiss" : "release";
  const which = form.text(verb);
  const ids = which === "chosen" ? [...new Set(form.all("submission_id"))] : [which ?? ""];
  if (ids.length > listedMax || ids.some((id) => !idShape.test(id))) {
    throw new RefusedPage(400, "These are no submission ids", markup`<p>Nothing was changed.</p>`);
  }
  const only = which === "chosen" ? null : which;
  const kept = { reason: form.word("reason", Object.keys(parts.spamMeanings)) };
  const back = await backFrom(parts.pool, form, { list: "/held", only, tokens, kept });
  if (ids.length === 0) return back("none_chosen");
  const { decide, done } = reviews[verb];
  let reviewed = 0;
  for (const id of ids) {
    // Each with its audit row in a transaction of its own: what an outage cuts short is repeated without harm.
    if (await decide(parts.pool, id, exchange.clientAddress) === done) reviewed += 1;
  }
  return back(reviewed === 0 ? "none_held" : done, reviewed);
}
