/** Dead letters and their replay: one, those chosen, or all. */

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
  chosenTenant,
  idShape,
  parseQuery,
  queryOf,
  readForm,
  tenantFilter,
  withNote,
} from "./request.ts";
import type { Context } from "./context.ts";
import { choice, type ConsolePage, RefusedPage, table } from "./layout.ts";
import { boundedText, count, type PageClock, reasonBadge, shown, time } from "./text.ts";

const listedMax = 200;
// A request has 20 s; what is left after this is for another press of the button.
const replayAllMs = 10_000;

/** `/dead` */
export async function deadPage({ parts, tokens, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const tenant = await chosenTenant(pool, parseQuery(query, ["tenant"]));
  const letters = await listDeadLetters(pool, { tenantId: tenant.id, limit: listedMax });
  const filter = await tenantFilter(pool, "/dead", tenant.slug);
  const total = await countDead(pool, tenant.id);
  return {
    title: "Dead letters",
    body: markup`<h1>Dead letters</h1>
<p>Leads and submissions whose delivery was given up. Their content is kept. Fix the cause, then replay: each is sent once
more, immediately, and returns to this list if it is refused again.</p>
${filter}
${
      actionForm(
        { tokens, path: "/dead/replay", hidden: { tenant: tenant.slug } },
        markup`${
          table(
            [
              "Choose",
              "Reason",
              "Died",
              "Event",
              "Tenant and source",
              ">Attempts",
              "!Replay",
            ],
            letters.map((letter) => ({ cells: cells(letter, clock) })),
            {
              label: "Dead letters",
              empty: markup`There are no dead letters${tenant.slug !== null && markup` of this tenant`}.`,
              caption: total.count > letters.length
                ? `The newest ${count(letters.length)} of ${boundedText(total)}`
                : undefined,
            },
          )
        }
${
          letters.length > 0 && markup`<div class="row"><button class="main">Replay selected</button>
<a class="button" href="/dead/replay-all${queryOf({ tenant: tenant.slug })}">Replay all ${
            boundedText(total)
          }${tenant.slug !== null && markup` of ${tenant.slug}`}…</a></div>`
        }
`,
      )
    }`,
  };
}

function cells(letter: ListedDeadLetter, clock: PageClock): Markup[] {
  const { eventId } = letter;
  return [
    choice("event_id", eventId, { label: `Choose ${eventId}` }),
    reasonBadge(letter.reason ?? "unknown", "bad"),
    time(letter.diedAt, clock),
    markup`<a class="id" href="/leads/${eventId}">${eventId}</a><br><span class="quiet">${
      letter.kind === "lead" ? "lead" : "submission"
    }, received</span> ${time(letter.receivedAt, clock)}`,
    markup`${letter.tenant}<br><span class="quiet">${shown(letter.source)}</span>`,
    markup`${count(letter.attemptsMade)}`,
    markup`<button name="only" value="${eventId}" aria-label="Replay ${eventId}">Replay</button>`,
  ];
}

/** `POST /dead/replay`: one or those chosen, from the list or from an event's own page. */
export async function replayAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, {
    tokens,
    path: "/dead/replay",
    names: ["event_id", "only", "tenant", "page"],
  });
  const only = form.shaped("only", idShape);
  const ids = only === null ? [...new Set(form.all("event_id"))] : [only];
  if (ids.length > listedMax || ids.some((id) => !idShape.test(id))) {
    throw new RefusedPage(400, "These are not event ids", markup`<p>Nothing was changed.</p>`);
  }
  const back = await backFrom(parts.pool, form, { list: "/dead", only, tokens });
  if (ids.length === 0) return back("none_chosen");
  const done = await replayDead(parts.pool, ids, exchange.clientAddress);
  return back(done.length === 0 ? "none_dead" : "replayed", done.length);
}

/** `/dead/replay-all`: asks before it is done. */
export async function replayAllPage({ parts, tokens, query }: Context): Promise<ConsolePage> {
  const tenant = await chosenTenant(parts.pool, parseQuery(query, ["tenant"]));
  const total = await countDead(parts.pool, tenant.id);
  const whose = tenant.slug === null
    ? markup`of <strong>all tenants</strong>`
    : markup`of <strong>${tenant.slug}</strong>`;
  return {
    title: "Replay all",
    body: total.count === 0
      ? markup`<h1>Replay all</h1><p>There are no dead letters ${whose}.</p>
<p><a href="/dead">Back to dead letters</a></p>`
      : markup`<h1>Replay ${boundedText(total)} ${total.count === 1 ? "dead letter" : "dead letters"}?</h1>
<p>Every dead letter ${whose} returns to pending and is sent immediately: <strong>${
        boundedText(total)
      }</strong> in total. A letter that is refused again is dead again after that one attempt. Effects that succeeded before are
not repeated.</p>
${
        actionForm(
          { tokens, path: "/dead/replay-all", className: "row", hidden: { tenant: tenant.slug } },
          markup`<button class="main">Replay ${boundedText(total)}</button>
<a class="button" href="/dead${queryOf({ tenant: tenant.slug })}">Cancel</a>
`,
        )
      }`,
  };
}

/** `POST /dead/replay-all`: in batches, each a transaction with its audit rows. */
export async function replayAllAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: "/dead/replay-all", names: ["tenant"] });
  const tenant = await chosenTenant(parts.pool, form);
  const { clientAddress } = exchange;
  const untilMs = parts.now().getTime() + replayAllMs;
  let done = 0;
  let isCut = false;
  for await (const ids of deadBatches(parts.pool, tenant.id)) {
    isCut = parts.now().getTime() >= untilMs;
    if (isCut) break;
    done += (await replayDead(parts.pool, ids, clientAddress)).length;
  }
  const code = done === 0 ? "none_dead" : isCut ? "replayed_part" : "replayed";
  return withNote("/dead", { tokens, code, count: done, query: { tenant: tenant.slug } });
}
