/** Lists dead letters, and replays one, the selected ones or all. */

import { type Markup, markup } from "../../http/markup.ts";
import { destinationKinds } from "../../store/delivery/effects.ts";
import {
  countDead,
  deadBatches,
  type DeadFilter,
  listDeadLetters,
  type ListedDeadLetter,
  replayDead,
} from "../../store/operator/dead_letters.ts";
import { effectName } from "../../store/operator/event_effects.ts";
import type { Pool } from "../../store/pool.ts";
import { type Parameters, requireTimeRange } from "../parameters.ts";
import {
  actionForm,
  backFrom,
  idPattern,
  parseQuery,
  queryString,
  readForm,
  selectedTenant,
  tenantSelect,
  withNote,
} from "./request.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, rowCheckbox, select, table, textField } from "./layout.ts";
import {
  eventLink,
  formatBoundedCount,
  formatCount,
  type PageClock,
  reasonBadge,
  safeText,
  tenantLink,
  timeElement,
} from "./text.ts";

const listedMax = 200;
// Well below a request's 20 s; the operator presses the button again for the rest.
const replayAllMs = 10_000;

const filterNames = ["tenant", "source", "reason", "to", "since", "until"] as const;

/** The selected dead letters, and the values of the fields that select them. */
interface Selection {
  readonly filter: DeadFilter;
  readonly values: Readonly<Record<typeof filterNames[number], string | null>> & Pick<DeadFilter, "to">;
}

async function readSelection(pool: Pool, form: Parameters): Promise<Selection> {
  const tenant = await selectedTenant(pool, form);
  const [since, until] = [form.time("since"), form.time("until")];
  requireTimeRange(since, until);
  const others = {
    source: form.text("source"),
    reason: form.text("reason"),
    to: form.oneOf("to", destinationKinds),
  };
  return {
    filter: { tenantId: tenant.id, ...others, since, until },
    values: { tenant: tenant.slug, ...others, since: form.text("since"), until: form.text("until") },
  };
}

/** Describes a selection, as in "the dead letters …". */
function selectionText({ values }: Selection): Markup {
  const { tenant, source, reason, to, since, until } = values;
  const parts = [
    ...(source === null ? [] : [markup`from source <strong>${safeText(source)}</strong>`]),
    ...(reason === null ? [] : [markup`whose reason contains <strong>${safeText(reason)}</strong>`]),
    ...(to === null ? [] : [markup`of which the last attempt failed at <strong>${effectName(to)}</strong>`]),
    ...(since === null ? [] : [markup`received since <strong>${safeText(since)}</strong>`]),
    ...(until === null ? [] : [markup`received before <strong>${safeText(until)}</strong>`]),
  ];
  return markup`of <strong>${tenant ?? "all tenants"}</strong>${
    parts.map((part, index) => markup`${index > 0 && ","} ${part}`)
  }`;
}

async function deadFilters(pool: Pool, { values }: Selection, { zone }: PageClock): Promise<Markup> {
  const { tenant, source, reason, to } = values;
  const destinations = [
    ["", "any destination"],
    ...destinationKinds.map((kind) => [kind, effectName(kind)] as const),
  ] as const;
  return markup`<form class="filters" method="get" action="/dead">
${await tenantSelect(pool, tenant)}${
    textField("source", { label: "Source (the key's label)", value: source })
  }${textField("reason", { label: "Reason contains", value: reason })}${
    select("to", destinations, { label: "Failed at", selected: to })
  }${
    ([["since", "Received since"], ["until", "Received before"]] as const).map(([name, label]) =>
      textField(name, { label: `${label} (${zone.name})`, value: values[name], isDate: true })
    )
  }<div class="row"><button>Show</button><a href="/dead">Clear</a></div></form>`;
}

/** Renders the page `/dead`. */
export async function deadPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const selection = await readSelection(pool, parseQuery(query, filterNames, clock));
  const { filter, values } = selection;
  const isFiltered = Object.values(values).some((value) => value !== null);
  const [deadLetters, total, fields] = await Promise.all([
    listDeadLetters(pool, { ...filter, limit: listedMax }),
    countDead(pool, filter),
    deadFilters(pool, selection, clock),
  ]);
  return {
    title: "Dead letters",
    body: markup`<h1>Dead letters</h1>
<p>Leads and submissions that could not be delivered. Their content remains stored. Fix the cause, then replay them: each is sent
once more, immediately, and returns to this list if it is refused again.</p>
${fields}
${
      actionForm(
        { tokens, path: "/dead/replay", hidden: hiddenFields(selection) },
        markup`${
          table(
            [
              "Select",
              "Reason",
              "Died",
              "Event",
              "Tenant and source",
              ">Attempts",
              "!Replay",
            ],
            deadLetters.map((deadLetter) => ({ cells: deadLetterCells(deadLetter, clock) })),
            {
              label: "Dead letters",
              empty: isFiltered ? markup`No such dead letters.` : markup`No dead letters.`,
              caption: total.count > deadLetters.length
                ? `The newest ${formatCount(deadLetters.length)} of ${formatBoundedCount(total)}`
                : undefined,
            },
          )
        }
${
          deadLetters.length > 0 && markup`<div class="row"><button class="main">Replay selected</button>
<a class="button" href="/dead/replay-all${queryString(values)}">Replay all ${formatBoundedCount(total)}${
            isFiltered && " of these"
          }…</a></div>`
        }
`,
      )
    }`,
  };
}

/** Returns a selection's fields for a form that is posted, with times that do not depend on when it is. */
function hiddenFields({ values, filter: { since, until } }: Selection) {
  return { ...values, since, until };
}

function deadLetterCells(deadLetter: ListedDeadLetter, clock: PageClock): Markup[] {
  const { eventId } = deadLetter;
  return [
    rowCheckbox("event_id", eventId, { label: `Select ${eventId}` }),
    reasonBadge(deadLetter.reason ?? "unknown", "bad"),
    timeElement(deadLetter.diedAt, clock),
    markup`${eventLink(eventId)}<br><span class="quiet">${
      deadLetter.kind === "lead" ? "lead" : "submission"
    }, received</span> ${timeElement(deadLetter.receivedAt, clock)}`,
    markup`${tenantLink(deadLetter.tenant)}<br><span class="quiet">${safeText(deadLetter.source)}</span>`,
    markup`${formatCount(deadLetter.attemptsMade)}`,
    markup`<button name="only" value="${eventId}" aria-label="Replay ${eventId}">Replay</button>`,
  ];
}

/** `POST /dead/replay`: replays one dead letter or the selected ones, from the list or an event's page. */
export async function replayAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/dead/replay",
    names: ["event_id", "only", "page", ...filterNames],
  });
  const only = form.matching("only", idPattern);
  const ids = only === null ? [...new Set(form.all("event_id"))] : [only];
  if (ids.length > listedMax || ids.some((id) => !idPattern.test(id))) {
    throw new RefusedPage(400, "Invalid event IDs", markup`<p>Nothing was changed.</p>`);
  }
  const { values } = await readSelection(parts.pool, form);
  const back = await backFrom(parts.pool, form, { list: "/dead", only, tokens, filter: values });
  if (ids.length === 0) return back("none_chosen");
  const replayedIds = await replayDead(parts.pool, ids, operator);
  return back(replayedIds.length === 0 ? "none_dead" : "replayed", replayedIds.length);
}

/** `/dead/replay-all`: asks for confirmation. */
export async function replayAllPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const selection = await readSelection(parts.pool, parseQuery(query, filterNames, clock));
  const total = await countDead(parts.pool, selection.filter);
  return {
    title: "Replay all",
    body: total.count === 0
      ? markup`<h1>Replay all</h1><p>No such dead letters.</p>
<p><a href="/dead">Back to dead letters</a></p>`
      : markup`<h1>Replay ${formatBoundedCount(total)} ${
        total.count === 1 ? "dead letter" : "dead letters"
      }?</h1>
<p>The dead letters ${selectionText(selection)} return to pending and are sent immediately: <strong>${
        formatBoundedCount(total)
      }</strong> in total. If one is refused again, it is dead again after that one attempt. Effects that have already succeeded
are not repeated.</p>
${
        actionForm(
          { tokens, path: "/dead/replay-all", className: "row", hidden: hiddenFields(selection) },
          markup`<button class="main">Replay ${formatBoundedCount(total)}</button>
<a class="button" href="/dead${queryString(selection.values)}">Cancel</a>
`,
        )
      }`,
  };
}

/** `POST /dead/replay-all`: replays in batches, each one transaction with its audit rows. */
export async function replayAllAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: "/dead/replay-all", names: filterNames });
  const { filter, values } = await readSelection(parts.pool, form);
  const untilMs = parts.now().getTime() + replayAllMs;
  let replayedCount = 0;
  let isTimeUp = false;
  for await (const ids of deadBatches(parts.pool, filter)) {
    isTimeUp = parts.now().getTime() >= untilMs;
    if (isTimeUp) break;
    replayedCount += (await replayDead(parts.pool, ids, operator)).length;
  }
  const code = replayedCount === 0 ? "none_dead" : isTimeUp ? "replayed_part" : "replayed";
  return withNote("/dead", { tokens, code, count: replayedCount, query: values });
}
