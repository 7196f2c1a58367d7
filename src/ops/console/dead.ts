/** Lists dead letters, and replays one, the selected ones or all. */

import { type Markup, markup } from "../../http/markup.ts";
import {
  countDead,
  deadBatches,
  listDeadLetters,
  type ListedDeadLetter,
  replayDead,
} from "../../store/operator/dead_letters.ts";
import {
  actionForm,
  backFrom,
  idPattern,
  parseQuery,
  queryString,
  readForm,
  selectedTenant,
  tenantFilter,
  withNote,
} from "./request.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, rowCheckbox, table } from "./layout.ts";
import {
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

/** Renders the page `/dead`. */
export async function deadPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const tenant = await selectedTenant(pool, parseQuery(query, ["tenant"]));
  const deadLetters = await listDeadLetters(pool, { tenantId: tenant.id, limit: listedMax });
  const filter = await tenantFilter(pool, "/dead", tenant.slug);
  const total = await countDead(pool, tenant.id);
  return {
    title: "Dead letters",
    body: markup`<h1>Dead letters</h1>
<p>Leads and submissions that could not be delivered. Their content remains stored. Fix the cause, then replay them: each is sent
once more, immediately, and returns to this list if it is refused again.</p>
${filter}
${
      actionForm(
        { tokens, path: "/dead/replay", hidden: { tenant: tenant.slug } },
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
              empty: markup`No dead letters${tenant.slug !== null && markup` for this tenant`}.`,
              caption: total.count > deadLetters.length
                ? `The newest ${formatCount(deadLetters.length)} of ${formatBoundedCount(total)}`
                : undefined,
            },
          )
        }
${
          deadLetters.length > 0 && markup`<div class="row"><button class="main">Replay selected</button>
<a class="button" href="/dead/replay-all${queryString({ tenant: tenant.slug })}">Replay all ${
            formatBoundedCount(total)
          }${tenant.slug !== null && markup` for ${tenant.slug}`}…</a></div>`
        }
`,
      )
    }`,
  };
}

function deadLetterCells(deadLetter: ListedDeadLetter, clock: PageClock): Markup[] {
  const { eventId } = deadLetter;
  return [
    rowCheckbox("event_id", eventId, { label: `Select ${eventId}` }),
    reasonBadge(deadLetter.reason ?? "unknown", "bad"),
    timeElement(deadLetter.diedAt, clock),
    markup`<a class="id" href="/leads/${eventId}">${eventId}</a><br><span class="quiet">${
      deadLetter.kind === "lead" ? "lead" : "submission"
    }, received</span> ${timeElement(deadLetter.receivedAt, clock)}`,
    markup`${tenantLink(deadLetter.tenant)}<br><span class="quiet">${safeText(deadLetter.source)}</span>`,
    markup`${formatCount(deadLetter.attemptsMade)}`,
    markup`<button name="only" value="${eventId}" aria-label="Replay ${eventId}">Replay</button>`,
  ];
}

/** `POST /dead/replay`: replays one dead letter or the selected ones, from the list or an event's page. */
export async function replayAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/dead/replay",
    names: ["event_id", "only", "tenant", "page"],
  });
  const only = form.matching("only", idPattern);
  const ids = only === null ? [...new Set(form.all("event_id"))] : [only];
  if (ids.length > listedMax || ids.some((id) => !idPattern.test(id))) {
    throw new RefusedPage(400, "Invalid event IDs", markup`<p>Nothing was changed.</p>`);
  }
  const back = await backFrom(parts.pool, form, { list: "/dead", only, tokens });
  if (ids.length === 0) return back("none_chosen");
  const replayedIds = await replayDead(parts.pool, ids, exchange.clientAddress);
  return back(replayedIds.length === 0 ? "none_dead" : "replayed", replayedIds.length);
}

/** `/dead/replay-all`: asks for confirmation. */
export async function replayAllPage({ parts, tokens, query }: Context): Promise<ConsolePage> {
  const tenant = await selectedTenant(parts.pool, parseQuery(query, ["tenant"]));
  const total = await countDead(parts.pool, tenant.id);
  return {
    title: "Replay all",
    body: total.count === 0
      ? markup`<h1>Replay all</h1><p>No dead letters${tenant.slug !== null && markup` for this tenant`}.</p>
<p><a href="/dead">Back to dead letters</a></p>`
      : markup`<h1>Replay ${formatBoundedCount(total)} ${
        total.count === 1 ? "dead letter" : "dead letters"
      }?</h1>
<p>Every dead letter for <strong>${
        tenant.slug ?? "all tenants"
      }</strong> returns to pending and is sent immediately: <strong>${
        formatBoundedCount(total)
      }</strong> in total. If one is refused again, it is dead again after that one attempt. Effects that have already succeeded
are not repeated.</p>
${
        actionForm(
          { tokens, path: "/dead/replay-all", className: "row", hidden: { tenant: tenant.slug } },
          markup`<button class="main">Replay ${formatBoundedCount(total)}</button>
<a class="button" href="/dead${queryString({ tenant: tenant.slug })}">Cancel</a>
`,
        )
      }`,
  };
}

/** `POST /dead/replay-all`: replays in batches, each one transaction with its audit rows. */
export async function replayAllAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: "/dead/replay-all", names: ["tenant"] });
  const tenant = await selectedTenant(parts.pool, form);
  const { clientAddress } = exchange;
  const untilMs = parts.now().getTime() + replayAllMs;
  let replayedCount = 0;
  let isTimeUp = false;
  for await (const ids of deadBatches(parts.pool, tenant.id)) {
    isTimeUp = parts.now().getTime() >= untilMs;
    if (isTimeUp) break;
    replayedCount += (await replayDead(parts.pool, ids, clientAddress)).length;
  }
  const code = replayedCount === 0 ? "none_dead" : isTimeUp ? "replayed_part" : "replayed";
  return withNote("/dead", { tokens, code, count: replayedCount, query: { tenant: tenant.slug } });
}
