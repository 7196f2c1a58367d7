/** `/find`: what an identifier finds, each result with what happened. */

import { type Markup, markup } from "../../http/markup.ts";
import { readingsOf } from "../../lead/identifier.ts";
import { find, type Found, foundMax } from "../../store/operator/find.ts";
import { SearchTimeout } from "../../store/operator/search_entry.ts";
import { whatHappened } from "../../store/operator/what_happened.ts";
import type { Context } from "./context.ts";
import { leadCell } from "./event_rows.ts";
import { type ConsolePage, findPath, table } from "./layout.ts";
import { parseQuery, queryString } from "./request.ts";
import { eventLink, type PageClock, safeText, tenantLink, timeElement } from "./text.ts";

const identifiers =
  "an event or submission id, an X-Request-Id, an Idempotency-Key, an external_id, a phone number in any format, an email address, or the beginning of a last name or full name";

/** Returns the path of the page that finds a text. */
export const findHref = (text: string): string => `${findPath}${queryString({ q: text })}`;

export async function findPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const searched = parseQuery(query, ["q"]).text("q");
  const page = (body: Markup, status = 200): ConsolePage => ({
    status,
    title: "Find",
    searched,
    body: markup`<h1>Find</h1>
${body}
<p class="quiet">Type ${identifiers}. To list by tenant, source, state, flag or time, use <a href="/leads">Leads</a>.</p>`,
  });
  if (searched === null) return page(markup``);
  const readings = readingsOf(searched);
  if (typeof readings === "string") {
    return page(markup`<p class="bad message" role="alert">${readings}.</p>`, 400);
  }
  try {
    const { found, isMore, mayMissNewest } = await find(parts, readings);
    return page(markup`${
      mayMissNewest &&
      markup`<p class="warn message">Posts of the last seconds may be missing: they could not be indexed in time.</p>`
    }
${
      table(
        ["Lead", "What happened", "Tenant and source", "Posted", "Id"],
        found.map((one) => ({ cells: cells(one, clock) })),
        {
          label: "Results",
          look: "cards",
          empty:
            markup`Nothing found. This looks like <strong>${readings.looksLike}</strong>. Refused posts are kept for
30 days; what was erased is found by its id only.`,
          caption: isMore ? `The newest ${foundMax}. There are more: narrow your search.` : undefined,
        },
      )
    }`);
  } catch (error) {
    if (!(error instanceof SearchTimeout)) throw error;
    return page(markup`<p class="warn message" role="alert">${error.message}.</p>`, 400);
  }
}

function cells(found: Found, clock: PageClock): Markup[] {
  const { name, link } = describe(found);
  return [
    name,
    safeText(whatHappened(found)),
    markup`${tenantLink(found.tenant)} <br><span class="quiet">${safeText(found.source)}</span>`,
    timeElement(found.at, clock),
    link,
  ];
}

function describe(found: Found): { readonly name: Markup; readonly link: Markup } {
  switch (found.kind) {
    case "event":
      return { name: leadCell(found.event), link: eventLink(found.event.eventId) };
    case "collision": {
      const { id } = found.collision;
      return { name: markup`Collision`, link: markup`<a class="id" href="/collisions/${id}">${id}</a>` };
    }
    case "posts":
      return found.eventId === null
        ? {
          name: markup`Refused`,
          link: markup`<a class="id" href="/keys/${found.keyId}">key ${found.keyId}</a>`,
        }
        : { name: markup`Duplicate`, link: eventLink(found.eventId) };
  }
}
