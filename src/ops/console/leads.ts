/**
 * The search: leads and submissions by what is known of them, the newest first. The list shows what tells one from
 * another, and no more of a person than the end of a phone number.
 */

import { flagNames } from "../../contract/fields.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { searchEvents, type SearchFilter } from "../../store/operator/search.ts";
import { cursorBefore, filterNames, questionOf, readCursor, readFilter } from "../leads.ts";
import { InvalidParameter, type Parameters } from "../parameters.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, select, table } from "./layout.ts";
import { idShape, parseQuery, queryOf, tenantSelect } from "./request.ts";
import { badge, badges, count, dollars, type PageClock, shortened, shown, time } from "./text.ts";

const listedMax = 50;

/** `/leads` */
export async function leadsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["id", ...filterNames, "cursor"], clock);
  const id = form.shaped("id", idShape);
  const filter = filterOf(form);
  const tenants = await tenantSelect(parts.pool, form.text("tenant"));
  if (filter instanceof InvalidParameter) {
    return {
      status: 400,
      title: "The search cannot be read",
      body: markup`<h1>Leads and submissions</h1>
<p class="bad message" role="alert" id="wrong">The search cannot be read: <code>${filter.parameter}</code>. ${filter.message}.</p>
${filters(form, { tenants, zone: clock.zone, wrong: filter.parameter })}`,
    };
  }
  const question = questionOf(filter, form);
  const cursor = form.text("cursor");
  const before = cursor === null ? null : readCursor(cursor, question);
  if (cursor !== null && before === null) {
    throw new RefusedPage(
      400,
      "The page does not belong to this search",
      markup`<p><a href="/leads">Search again</a>.</p>`,
    );
  }
  // An id says it all: what stands in the other fields is left aside.
  const found = id !== null
    ? { eventIds: [id], before: null }
    : await searchEvents(parts.searchPool, filter, { before, limit: listedMax });
  const events = (await readEvents(parts.pool, found.eventIds, { withRaw: false })).filter((one) =>
    one !== null
  );
  const values = Object.fromEntries(filterNames.map((name) => [name, form.text(name)]));
  const next = found.before === null ? null : cursorBefore(found.before, question);
  return {
    title: "Leads and submissions",
    body: markup`<h1>Leads and submissions</h1>
${filters(form, { tenants, zone: clock.zone, wrong: null })}
${
      results(events, {
        isNarrowed: [id, ...Object.values(values)].some((value) => value !== null),
        next,
        clock,
      })
    }
<div class="row">${
      next !== null &&
      markup`<a class="button main" href="/leads${queryOf({ ...values, cursor: next })}">${
        events.length < listedMax ? "Search on" : "Earlier"
      }</a>`
    }${before !== null && markup`<a class="button" href="/leads${queryOf(values)}">Newest</a>`}</div>`,
  };
}

/** The filters, as `GET /v1/leads` reads them, or what is wrong with one. */
function filterOf(form: Parameters): SearchFilter | InvalidParameter {
  try {
    return readFilter(form);
  } catch (error) {
    if (error instanceof InvalidParameter) return error;
    throw error;
  }
}

function results(
  events: readonly StoredEvent[],
  { isNarrowed, next, clock }: { isNarrowed: boolean; next: string | null; clock: PageClock },
): Markup {
  const none = next !== null
    ? markup`Nothing among the newest: there is more to look through. Search on.`
    : isNarrowed
    ? markup`Nothing matches. Leave a filter out, or look whether the caller got a 202 at all: what was refused is not stored.`
    : markup`Nothing was accepted yet. <code>ctl key issue TENANT --label LABEL</code> makes a key to post with.`;
  return table(
    ["Received", "State", "Event", "What", "Tenant and source", "Flags"],
    events.map((event) => ({
      cells: [
        time(event.receivedAt, clock),
        stateOf(event),
        markup`<a class="id" href="/leads/${event.eventId}">${event.eventId}</a>${
          event.kind === "form" && markup`<br><span class="quiet">submission</span>`
        }`,
        whatOf(event),
        markup`${event.tenant}<br><span class="quiet">${shown(event.source)}</span>`,
        badges(event.flags),
      ],
    })),
    {
      label: "Leads and submissions",
      empty: none,
      caption: `${count(events.length)} shown, the newest first`,
    },
  );
}

/** Area, city and cost of a lead, or the form of a submission, and the end of the phone number. */
function whatOf({ kind, lead, found }: StoredEvent): Markup {
  const content = lead === null ? {} : JSON.parse(lead) as Readonly<Record<string, unknown>>;
  const text = (name: string) => typeof content[name] === "string" ? content[name] as string : "";
  const phoneEnd = kind === "form" ? found?.phoneEnd ?? "" : text("phone").slice(-4);
  const named = kind === "form" ? [found?.formKey ?? ""] : [text("project_area"), text("city")];
  const cost = kind === "lead" && typeof content["cost_cents"] === "number"
    ? dollars(content["cost_cents"])
    : "";
  const parts = [
    ...named.filter((part) => part !== "").map((part) => shortened(part, 30)),
    ...(cost === "" ? [] : [markup`${cost}`]),
    ...(phoneEnd === "" ? [] : [markup`<span class="quiet">…${shown(phoneEnd)}</span>`]),
  ];
  return parts.length === 0
    ? markup`<span class="quiet">–</span>`
    : markup`${parts.map((part, index) => markup`${index > 0 && " · "}${part}`)}`;
}

/** The state with the reason why it stands there. */
function stateOf({ delivery }: StoredEvent): Markup {
  const reason = delivery.state === "pending" || delivery.state === "dead" ? delivery.reason : null;
  return markup`${badge(delivery.state)}${
    reason !== null && markup`<br><span class="quiet">${shown(reason)}</span>`
  }`;
}

const spans = [["", "any time"], ["24h", "the last 24 hours"], ["7d", "the last 7 days"], [
  "30d",
  "the last 30 days",
]] as const;
const kinds = [["", "any kind"], ["lead", "leads"], ["form", "submissions"]] as const;
const states = ["pending", "sending", "delivered", "dead", "held"] as const;

function filters(
  form: Parameters,
  { tenants, zone, wrong }: {
    readonly tenants: Markup;
    readonly zone: TimeZone;
    readonly wrong: string | null;
  },
): Markup {
  // Of two that have a name, a list of spans and a day, each shows its own.
  const span = form.all("since").find((one) => spans.some(([name]) => name === one)) ?? null;
  const field = (name: string, label: string, more: Markup) => {
    const value = form.all(name).find((one) => one !== span) ?? null;
    return markup`<div><label for="${name}">${label}</label><input id="${name}" name="${name}"${
      value !== null && markup` value="${value}"`
    } autocomplete="off" spellcheck="false"${
      name === wrong && markup` aria-invalid="true" aria-describedby="wrong" autofocus`
    }${more}></div>`;
  };
  const isMoment = (text: string) => text !== span && !/^\d{4}-\d\d-\d\d$/.test(text);
  const plain = markup``;
  return markup`<form class="filters" method="get" action="/leads" role="search">
${field("id", "Event or submission id", plain)}${
    field("email", "E-mail", markup` type="text" inputmode="email"`)
  }${field("phone", "Phone", markup` type="tel"`)}${field("last_name", "Last name begins with", plain)}
${tenants}${field("source", "Source (the key's label)", plain)}
${select("kind", kinds, { label: "Kind", chosen: form.text("kind") })}
${
    select("state", [["", "any state"], ...states.map((state) => [state, state] as const)], {
      label: "State",
      chosen: form.text("state"),
    })
  }
${
    select("flag", [["", "any flags"], ...flagNames.map((flag) => [flag, flag] as const)], {
      label: "Flag",
      chosen: form.text("flag"),
    })
  }
${select("since", spans, { label: "Received in", chosen: span })}${
    ([["since", "or since"], ["until", "Received before"]] as const).map(([name, label]) =>
      field(
        name,
        `${label} (${zone.name})`,
        markup` type="${form.all(name).some(isMoment) ? "text" : "date"}"`,
      )
    )
  }
<div class="row"><button class="main">Search</button><a href="/leads">Clear</a></div>
</form>`;
}
