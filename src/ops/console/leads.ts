/** `/leads`: the list with its filters. */

import { flagNames } from "../../contract/fields.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { readingsOf } from "../../lead/identifier.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { searchEvents, type SearchFilter } from "../../store/operator/search.ts";
import { SearchTimeout } from "../../store/operator/search_entry.ts";
import { canonicalQuery, decodeCursor, encodeCursor, filterNames, readFilter, states } from "../leads.ts";
import { InvalidParameter, type Parameters } from "../parameters.ts";
import type { Context } from "./context.ts";
import { eventTable } from "./event_rows.ts";
import { findHref } from "./find.ts";
import { type ConsolePage, RefusedPage, select } from "./layout.ts";
import { parseQuery, queryString, tenantSelect } from "./request.ts";
import { formatCount, type PageClock, truncated } from "./text.ts";

const listedMax = 50;

export async function leadsPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const form = parseQuery(query, [...filterNames, "cursor"], clock);
  const filter = readFilterOrError(form);
  const tenants = await tenantSelect(parts.pool, form.text("tenant"));
  const page = (
    body: Markup,
    { error = null }: { readonly error?: InvalidParameter | Error | null } = {},
  ) => ({
    ...(error === null ? {} : { status: 400 }),
    title: error === null ? "Leads and submissions" : "Invalid search",
    body: markup`<h1>Leads and submissions</h1>
${error !== null && errorMessage(error)}${misplacedValues(form)}
${
      leadFilters(form, {
        tenants,
        zone: clock.zone,
        invalidName: error instanceof InvalidParameter ? error.parameter : null,
      })
    }
${body}`,
  });
  if (filter instanceof InvalidParameter) return page(markup``, { error: filter });
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
  const found = await searchEvents(parts.searchPool, filter, { before, limit: listedMax }).catch((error) => {
    if (error instanceof SearchTimeout) return error;
    throw error;
  });
  if (found instanceof SearchTimeout) return page(markup``, { error: found });
  const events = (await readEvents(parts.pool, found.eventIds, { withRaw: false })).filter((event) =>
    event !== null
  );
  const values = Object.fromEntries(filterNames.map((name) => [name, form.text(name)]));
  const next = found.before === null ? null : encodeCursor(found.before, canonical);
  return page(markup`${resultTable(events, { isFiltered: isFiltered(form), clock })}
<div class="row">${
    next !== null &&
    markup`<a class="button main" href="/leads${queryString({ ...values, cursor: next })}">Earlier</a>`
  }${before !== null && markup`<a class="button" href="/leads${queryString(values)}">Newest</a>`}</div>`);
}

const isFiltered = (form: Parameters) => filterNames.some((name) => form.all(name).length > 0);

function errorMessage(error: InvalidParameter | Error): Markup {
  return markup`<p class="bad message" role="alert" id="wrong">${
    error instanceof InvalidParameter && markup`Invalid search: <code>${error.parameter}</code>. `
  }${error.message}.</p>`;
}

// What a text in a field looks like, if it belongs there.
const fittingShapes: Readonly<Record<string, string>> = {
  email: "an email address",
  phone: "a phone number",
  last_name: "",
  source: "",
};
const shapes = ["an event id", "an email address", "a phone number"];

/** Says of each text that fits into another field what it looks like. */
function misplacedValues(form: Parameters): Markup[] {
  return Object.entries(fittingShapes).flatMap(([name, fitting]) => {
    const [value] = form.all(name);
    const readings = value === undefined ? "" : readingsOf(value);
    if (typeof readings === "string" || value === undefined) return [];
    const { looksLike } = readings;
    if (looksLike === fitting || !shapes.includes(looksLike)) return [];
    return [
      markup`<p class="warn message">In <code>${name}</code>, <strong>${
        truncated(value)
      }</strong> looks like ${looksLike}: <a href="${findHref(value)}">find it</a>.</p>`,
    ];
  });
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
  { isFiltered, clock }: { isFiltered: boolean; clock: PageClock },
): Markup {
  const emptyText = isFiltered
    ? markup`No match. Remove a filter, or check whether the caller got a 202. Refused posts are not listed here: <a href="/find">find</a> them by request id or Idempotency-Key.`
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

function leadFilters(
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
  return markup`<details class="more"${
    isFiltered(form) && markup` open`
  }><summary>More filters</summary><form class="filters" method="get" action="/leads">
${field("email", "Email", markup` type="text" inputmode="email"`)}${
    field("phone", "Phone", markup` type="tel"`)
  }${field("last_name", "Last name begins with", noAttributes)}
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
</form></details>`;
}
