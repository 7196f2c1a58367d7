/** `/leads`: the search. The only personal data in its results is the city and the end of the phone number. */

import { flagNames } from "../../contract/fields.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { searchEvents, type SearchFilter } from "../../store/operator/search.ts";
import { canonicalQuery, decodeCursor, encodeCursor, filterNames, readFilter } from "../leads.ts";
import { InvalidParameter, type Parameters } from "../parameters.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, select, table } from "./layout.ts";
import { idPattern, parseQuery, queryString, tenantSelect } from "./request.ts";
import {
  badge,
  badges,
  formatCents,
  formatCount,
  type PageClock,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";

const listedMax = 50;

export async function leadsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["id", ...filterNames, "cursor"], clock);
  const id = form.matching("id", idPattern);
  const filter = readFilterOrError(form);
  const tenants = await tenantSelect(parts.pool, form.text("tenant"));
  if (filter instanceof InvalidParameter) {
    return {
      status: 400,
      title: "Invalid search",
      body: markup`<h1>Leads and submissions</h1>
<p class="bad message" role="alert" id="wrong">Invalid search: <code>${filter.parameter}</code>. ${filter.message}.</p>
${filterForm(form, { tenants, zone: clock.zone, invalidName: filter.parameter })}`,
    };
  }
  const canonical = canonicalQuery(filter, form);
  const cursor = form.text("cursor");
  const before = cursor === null ? null : decodeCursor(cursor, canonical);
  if (cursor !== null && before === null) {
    throw new RefusedPage(
      400,
      "The page does not belong to this search",
      markup`<p><a href="/leads">Search again</a>.</p>`,
    );
  }
  // If an id is given, the other fields are ignored.
  const page = id !== null
    ? { eventIds: [id], before: null }
    : await searchEvents(parts.pool, filter, { before, limit: listedMax });
  const events = (await readEvents(parts.pool, page.eventIds, { withRaw: false })).filter((event) =>
    event !== null
  );
  const values = Object.fromEntries(filterNames.map((name) => [name, form.text(name)]));
  const next = page.before === null ? null : encodeCursor(page.before, canonical);
  return {
    title: "Leads and submissions",
    body: markup`<h1>Leads and submissions</h1>
${filterForm(form, { tenants, zone: clock.zone, invalidName: null })}
${
      resultTable(events, {
        isFiltered: [id, ...Object.values(values)].some((value) => value !== null),
        next,
        clock,
      })
    }
<div class="row">${
      next !== null &&
      markup`<a class="button main" href="/leads${queryString({ ...values, cursor: next })}">${
        events.length < listedMax ? "Continue searching" : "Earlier"
      }</a>`
    }${before !== null && markup`<a class="button" href="/leads${queryString(values)}">Newest</a>`}</div>`,
  };
}

/** Reads the filters like `GET /v1/leads`, or returns the first error. */
function readFilterOrError(form: Parameters): SearchFilter | InvalidParameter {
  try {
    return readFilter(form);
  } catch (error) {
    if (error instanceof InvalidParameter) return error;
    throw error;
  }
}

function resultTable(
  events: readonly StoredEvent[],
  { isFiltered, next, clock }: { isFiltered: boolean; next: string | null; clock: PageClock },
): Markup {
  const emptyText = next !== null
    ? markup`No match among the newest events. Continue searching through the older ones.`
    : isFiltered
    ? markup`No match. Remove a filter, or check whether the caller got a 202: refused posts are not stored.`
    : markup`Nothing has been accepted yet. To issue a key to post with, run <code>ctl key issue TENANT --label LABEL</code>.`;
  return table(
    ["Received", "State", "Event", "Summary", "Tenant and source", "Flags"],
    events.map((event) => ({
      cells: [
        timeElement(event.receivedAt, clock),
        stateCell(event),
        markup`<a class="id" href="/leads/${event.eventId}">${event.eventId}</a>${
          event.kind === "form" && markup`<br><span class="quiet">submission</span>`
        }`,
        summaryCell(event),
        markup`${tenantLink(event.tenant)}<br><span class="quiet">${safeText(event.source)}</span>`,
        badges(event.flags),
      ],
    })),
    {
      label: "Leads and submissions",
      empty: emptyText,
      caption: `${formatCount(events.length)} shown, newest first`,
    },
  );
}

/** Renders a lead's area, city and cost, or a submission's form; for both, also the end of the phone number. */
function summaryCell({ kind, lead, submission }: StoredEvent): Markup {
  const content = lead === null ? {} : JSON.parse(lead) as Readonly<Record<string, unknown>>;
  const text = (name: string) => typeof content[name] === "string" ? content[name] as string : "";
  const phoneEnd = kind === "form" ? submission?.phoneEnd ?? "" : text("phone").slice(-4);
  const labels = kind === "form" ? [submission?.formKey ?? ""] : [text("project_area"), text("city")];
  const cost = kind === "lead" && typeof content["cost_cents"] === "number"
    ? formatCents(content["cost_cents"])
    : "";
  const parts = [
    ...labels.filter((part) => part !== "").map((part) => truncated(part, 30)),
    ...(cost === "" ? [] : [markup`${cost}`]),
    ...(phoneEnd === "" ? [] : [markup`<span class="quiet">…${safeText(phoneEnd)}</span>`]),
  ];
  return parts.length === 0
    ? markup`<span class="quiet">–</span>`
    : markup`${parts.map((part, index) => markup`${index > 0 && " · "}${part}`)}`;
}

/** Renders the delivery state and its reason. */
function stateCell({ delivery, returned }: StoredEvent): Markup {
  const reason = delivery.state === "pending" || delivery.state === "dead" ? delivery.reason : null;
  return markup`${badge(delivery.state)}${
    reason !== null && markup`<br><span class="quiet">${safeText(reason)}</span>`
  }${returned !== null && markup`<br>${badge("returned")}`}`;
}

const timeRanges = [["", "any time"], ["24h", "the last 24 hours"], ["7d", "the last 7 days"], [
  "30d",
  "the last 30 days",
]] as const;
const kinds = [["", "any kind"], ["lead", "leads"], ["form", "submissions"]] as const;
const states = ["pending", "sending", "delivered", "dead", "held"] as const;

function filterForm(
  form: Parameters,
  { tenants, zone, invalidName }: {
    readonly tenants: Markup;
    readonly zone: TimeZone;
    /** The name of the invalid field; `null` if all are valid. */
    readonly invalidName: string | null;
  },
): Markup {
  // Two controls send `since`: a list of ranges and a date field. Each shows only its own value.
  const rangeValue = form.all("since").find((value) => timeRanges.some(([name]) => name === value)) ?? null;
  const field = (name: string, label: string, attributes: Markup) => {
    const value = form.all(name).find((sent) => sent !== rangeValue) ?? null;
    return markup`<div><label for="${name}">${label}</label><input id="${name}" name="${name}"${
      value !== null && markup` value="${value}"`
    } autocomplete="off" spellcheck="false"${
      name === invalidName && markup` aria-invalid="true" aria-describedby="wrong" autofocus`
    }${attributes}></div>`;
  };
  const isTimeOfDay = (text: string) => text !== rangeValue && !/^\d{4}-\d\d-\d\d$/.test(text);
  const noAttributes = markup``;
  return markup`<form class="filters" method="get" action="/leads" role="search">
${field("id", "Event or submission id", noAttributes)}${
    field("email", "Email", markup` type="text" inputmode="email"`)
  }${field("phone", "Phone", markup` type="tel"`)}${field("last_name", "Last name begins with", noAttributes)}
${tenants}${field("source", "Source (the key's label)", noAttributes)}
${select("kind", kinds, { label: "Kind", selected: form.text("kind") })}
${
    select("state", [["", "any state"], ...states.map((state) => [state, state] as const)], {
      label: "State",
      selected: form.text("state"),
    })
  }
${
    select("flag", [["", "any flag"], ...flagNames.map((flag) => [flag, flag] as const)], {
      label: "Flag",
      selected: form.text("flag"),
    })
  }
${select("since", timeRanges, { label: "Received in", selected: rangeValue })}${
    ([["since", "or since"], ["until", "Received before"]] as const).map(([name, label]) =>
      field(
        name,
        `${label} (${zone.name})`,
        markup` type="${form.all(name).some(isTimeOfDay) ? "text" : "date"}"`,
      )
    )
  }
<div class="row"><button class="main">Search</button><a href="/leads">Clear</a></div>
</form>`;
}
