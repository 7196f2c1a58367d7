/** `/leads`: the search. */

import { flagNames } from "../../contract/fields.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { searchEvents, type SearchFilter } from "../../store/operator/search.ts";
import { canonicalQuery, decodeCursor, encodeCursor, filterNames, readFilter } from "../leads.ts";
import { InvalidParameter, type Parameters } from "../parameters.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, RefusedPage, select } from "./layout.ts";
import { idPattern, parseQuery, queryString, tenantSelect } from "./request.ts";
import { eventTable } from "./event_rows.ts";
import { formatCount, type PageClock } from "./text.ts";
import { looksLike } from "./wrong_id.ts";

const listedMax = 50;

export async function leadsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, ["id", ...filterNames, "cursor"], clock);
  const id = form.text("id");
  const filter = id !== null && !idPattern.test(id)
    ? new InvalidParameter("id", "It is not the id of an event or a submission")
    : readFilterOrError(form);
  const tenants = await tenantSelect(parts.pool, form.text("tenant"));
  if (filter instanceof InvalidParameter) {
    return {
      status: 400,
      title: "Invalid search",
      body: markup`<h1>Leads and submissions</h1>
<p class="bad message" role="alert" id="wrong">Invalid search: <code>${filter.parameter}</code>. ${filter.message}.</p>
${id !== null && filter.parameter === "id" && looksLike(id, "event")}
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
        id,
        isFiltered: Object.values(values).some((value) => value !== null),
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
  { id, isFiltered, next, clock }: {
    readonly id: string | null;
    readonly isFiltered: boolean;
    readonly next: string | null;
    readonly clock: PageClock;
  },
): Markup {
  const emptyText = id !== null
    ? markup`No match.${looksLike(id, "event")}`
    : next !== null
    ? markup`No match among the newest events. Continue searching through the older ones.`
    : isFiltered
    ? markup`No match. Remove a filter, or check whether the caller got a 202: refused posts are not stored.`
    : markup`Nothing has been accepted yet. To issue a key to post with, run <code>ctl key issue TENANT --label LABEL</code>.`;
  return eventTable(events, {
    clock,
    label: "Leads and submissions",
    empty: emptyText,
    caption: `${formatCount(events.length)} shown, newest first`,
  });
}

const timeRanges = [["", "any time"], ["24h", "the last 24 hours"], ["7d", "the last 7 days"], [
  "30d",
  "the last 30 days",
]] as const;
const kinds = [["", "any kind"], ["lead", "leads"], ["form", "submissions"]] as const;
const states = ["pending", "sending", "delivered", "marked", "dead", "held"] as const;

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
