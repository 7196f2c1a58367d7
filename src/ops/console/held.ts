/** Lists submissions held as spam, and releases or dismisses them. */

import { type Markup, markup } from "../../http/markup.ts";
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
  idPattern,
  type NoteCode,
  parseQuery,
  queryString,
  readForm,
  selectedTenant,
  tenantSelect,
} from "./request.ts";
import { readFields, reasonList } from "./content.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { type ConsolePage, filterForm, RefusedPage, rowCheckbox, select, table } from "./layout.ts";
import {
  badges,
  formatBoundedCount,
  formatCount,
  type PageClock,
  pluralize,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";

const pageSize = 50;
const textLengthMax = 200;
const cursorPattern = /^(-?\d{1,9})\.([0-9a-z]{8,64})$/;
/** The reason recorded for a submission whose hidden field was filled in. */
const honeypotReason = "honeypot_filled";

/** Renders the page `/held`. */
export async function heldPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const form = parseQuery(query, ["tenant", "reason", "choose", "after"]);
  const after = parseCursor(form.matching("after", cursorPattern));
  const tenant = await selectedTenant(pool, form);
  const names = Object.keys(parts.spamMeanings);
  const reason = form.oneOf("reason", names);
  const areAllSelected = form.oneOf("choose", ["all"]) !== null;
  const heldFilter = { tenantId: tenant.id, verdict: verdictFor(reason), reason };
  const [submissions, total, honeypotHits, corrected] = await Promise.all([
    listHeld(pool, { ...heldFilter, limit: pageSize + 1, after }),
    countHeld(pool, heldFilter),
    countHeld(pool, { tenantId: tenant.id, verdict: "honeypot" }),
    countCorrections(pool, tenant.id),
  ]);
  const held = submissions.slice(0, pageSize);
  const lastListed = held.at(-1);
  const filterQuery = { tenant: tenant.slug, reason };
  return {
    title: "Held submissions",
    body: markup`<h1>Held submissions</h1>
<p>Stored but not delivered; the senders got the usual response. Submissions that are most likely genuine come first.
<em>Release</em> delivers a submission as if it had never been held. <em>Dismiss</em> removes it from this list,
but it stays held and searchable. The spam score learns from both.</p>
<p>Corrected in the last 30 days: ${pluralize(corrected.released, "held submission")} released, ${
      pluralize(corrected.reported, "delivered submission")
    } reported as spam.</p>
${
      filterForm("/held", [
        await tenantSelect(pool, tenant.slug),
        select("reason", [
          ["", `any except ${honeypotReason}`],
          ...names.map((name) => [name, name] as const),
        ], {
          label: "Reason",
          selected: reason,
        }),
      ])
    }
${
      actionForm(
        { tokens, path: "/held/review", hidden: filterQuery },
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
            held.map((submission) => ({ cells: submissionCells(submission, { clock, areAllSelected }) })),
            {
              label: "Held submissions",
              empty: markup`No submissions to review${tenant.slug !== null && markup` for this tenant`}${
                reason !== null && markup` with this reason`
              }.`,
              caption: total.count > held.length
                ? `${formatCount(held.length)} of ${formatBoundedCount(total)}`
                : undefined,
              look: "compact",
            },
          )
        }
${
          held.length > 0 &&
          markup`<div class="row bar"><button class="main" name="release" value="chosen">Release selected</button><button
 name="dismiss" value="chosen">Dismiss selected</button></div><div class="row"><a class="button" href="/held${
            queryString({ ...filterQuery, choose: areAllSelected ? null : "all", after: form.text("after") })
          }">${areAllSelected ? "Select none" : "Select all"}</a>${
            submissions.length > pageSize && lastListed !== undefined &&
            markup`<a class="button" href="/held${
              queryString({ ...filterQuery, after: `${lastListed.score}.${lastListed.submissionId}` })
            }">Next page (more likely spam)</a>`
          }</div>`
        }
`,
      )
    }${
      reason !== honeypotReason && honeypotHits.count > 0 &&
      markup`<p><a href="/held${queryString({ tenant: tenant.slug, reason: honeypotReason })}">${
        formatBoundedCount(honeypotHits)
      } filled in the hidden field</a>, <span class="quiet">which people cannot see</span></p>`
    }${reasonLegend(held, parts)}`,
  };
}

const verdictFor = (reason: string | null) =>
  reason === honeypotReason ? "honeypot" as const : "spam" as const;

function parseCursor(text: string | null): HeldCursor | null {
  const [, score, submissionId] = cursorPattern.exec(text ?? "") ?? [];
  return submissionId === undefined ? null : { score: Number(score), submissionId };
}

function submissionCells(
  submission: HeldSubmission,
  { clock, areAllSelected }: { readonly clock: PageClock; readonly areAllSelected: boolean },
): Markup[] {
  const { submissionId } = submission;
  const { name, contact, text } = readFields(submission.fields);
  const sender = [name, contact].filter((part) => part !== "").join(", ");
  return [
    rowCheckbox("submission_id", submissionId, {
      label: `Select ${submissionId}`,
      isSelected: areAllSelected,
    }),
    markup`<a href="/leads/${submissionId}">${sender === "" ? submissionId : truncated(sender)}</a>${
      text !== "" && markup`<div class="value">${truncated(text, textLengthMax)}</div>`
    }`,
    markup`${formatCount(submission.score)}%`,
    badges(submission.reasons),
    markup`${timeElement(submission.receivedAt, clock)} <br>${tenantLink(submission.tenant)}, ${
      safeText(submission.formKey)
    } <span class="quiet">${safeText(submission.source)}</span>`,
    markup`<div class="row"><button name="release" value="${submissionId}" aria-label="Release ${submissionId}">Release</button><button
 name="dismiss" value="${submissionId}" aria-label="Dismiss ${submissionId}">Dismiss</button></div>`,
  ];
}

/** Lists each reason on the page once, with its meaning. */
function reasonLegend(held: readonly HeldSubmission[], parts: ConsoleParts): Markup {
  const names = [...new Set(held.flatMap((submission) => submission.reasons))].sort();
  if (names.length === 0) return markup``;
  return markup`<h2>What the reasons mean</h2>
${reasonList(names, parts)}`;
}

/** Asks before more than one submission is released. */
function confirmPage(
  { tokens, ids, filter }: {
    readonly tokens: Context["tokens"];
    readonly ids: readonly string[];
    readonly filter: Readonly<Record<string, string | null>>;
  },
): ConsolePage {
  const count = formatCount(ids.length);
  return {
    title: "Release selected",
    body: markup`<h1>Release ${count} submissions?</h1>
<p>They are delivered immediately, as if they had never been held: the customers get <strong>${count} emails</strong>, and
their CRMs the messages. This cannot be undone.</p>
${
      actionForm(
        { tokens, path: "/held/review", className: "row", hidden: { ...filter, confirmed: "yes" } },
        markup`${
          ids.map((id) => markup`<input type="hidden" name="submission_id" value="${id}">`)
        }<button class="main" name="release" value="chosen">Release ${count}</button>
<a class="button" href="/held${queryString(filter)}">Cancel</a>
`,
      )
    }`,
  };
}

const reviews = {
  release: { decide: releaseSubmission, done: "released" },
  dismiss: { decide: dismissSubmission, done: "dismissed" },
} as const satisfies Record<string, { readonly decide: unknown; readonly done: NoteCode }>;

/** `POST /held/review`: releases or dismisses one submission or all selected ones; used by the list and a submission's page. */
export async function reviewAction(
  { parts, tokens, exchange, operator }: Context,
): Promise<string | ConsolePage> {
  const form = await readForm(exchange, {
    tokens,
    path: "/held/review",
    names: ["submission_id", "release", "dismiss", "confirmed", "tenant", "reason", "page"],
  });
  const action = form.text("release") === null ? "dismiss" : "release";
  const selection = form.text(action);
  const ids = selection === "chosen" ? [...new Set(form.all("submission_id"))] : [selection ?? ""];
  if (ids.length > pageSize || ids.some((id) => !idPattern.test(id))) {
    throw new RefusedPage(400, "Invalid submission IDs", markup`<p>Nothing was changed.</p>`);
  }
  const only = selection === "chosen" ? null : selection;
  const filter = { reason: form.oneOf("reason", Object.keys(parts.spamMeanings)) };
  const back = await backFrom(parts.pool, form, { list: "/held", only, tokens, filter });
  if (ids.length === 0) return back("none_chosen");
  if (action === "release" && ids.length > 1 && form.text("confirmed") === null) {
    return confirmPage({ tokens, ids, filter: { tenant: form.text("tenant"), ...filter } });
  }
  const { decide, done } = reviews[action];
  const decision = { operator, labelFeatures: parts.labelFeatures };
  let reviewedCount = 0;
  for (const id of ids) {
    // Each submission has its own transaction, so that the action can be retried after an outage.
    if (await decide(parts.pool, id, decision) === done) reviewedCount += 1;
  }
  return back(reviewedCount === 0 ? "none_held" : done, reviewedCount);
}
