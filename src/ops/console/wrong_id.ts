/** The pages for what is wrong in a URL or a form: they keep what was typed, and say what it looks like. */

import { keyInText } from "../../contract/api_key.ts";
import { eventIdLength } from "../../contract/event_id.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { readingsOf } from "../../lead/identifier.ts";
import type { InvalidParameter } from "../parameters.ts";
import type { Context } from "./context.ts";
import { filterForm, findPath, RefusedPage, textField } from "./layout.ts";
import { queryString, slugPattern } from "./request.ts";
import { eventLink, safeText, tenantLink, truncated } from "./text.ts";

const lists = {
  tenant: ["/tenants", "list of tenants"],
  event: ["/leads", "leads and submissions"],
  collision: ["/collisions", "list of collisions"],
  key: ["/keys", "list of keys"],
} as const;

/** What an id should identify; `event`: a lead or submission. */
type Wanted = keyof typeof lists;

/** Returns the error for an id in a path that identifies nothing of the kind. */
export function notFound(wanted: Wanted, pathSegment: string): RefusedPage {
  const [path, text] = lists[wanted];
  const typed = decoded(pathSegment);
  return new RefusedPage(
    404,
    `No such ${wanted}`,
    markup`${looksLike(typed, wanted)}<p>See the <a href="${path}">${text}</a>.</p>`,
    typeof readingsOf(typed) === "string" ? null : typed,
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

// Matches the number of a collision or a key; phone numbers are longer.
const numberPattern = /^[1-9]\d{0,8}$/;

/** Says what a text that does not identify what is wanted looks like, with links to where it may lead. */
export function looksLike(typed: string, wanted: Wanted): Markup {
  const readings = readingsOf(typed);
  // Not shown, because it may be an API key.
  if (typeof readings === "string") return markup`<p>${readings}.</p>`;
  const shown = markup`“${truncated(typed, 80)}”`;
  const search = markup`<a href="${findPath}${queryString({ q: typed })}">Search for it</a>`;
  const isNumber = numberPattern.test(typed);
  const isEvent = readings.eventId?.length === eventIdLength;
  if (wanted === "event" ? isEvent : wanted !== "tenant" && isNumber) {
    return markup`<p>${shown} has the right form, but there is none with this id. ${search}.</p>`;
  }
  if (isEvent) {
    return markup`<p>This looks like the id of a lead or submission: ${eventLink(typed, "whole")}.</p>`;
  }
  return markup`<p>${shown} looks like ${
    isNumber
      ? markup`the number of <a href="/collisions/${typed}">a collision</a> or of <a href="/keys/${typed}">a key</a>`
      : readings.looksLike
  }${
    wanted !== "tenant" && /^[a-z]/.test(typed) && slugPattern.test(typed) &&
    markup`, or the slug of a tenant: ${tenantLink(typed)}`
  }. ${search}.</p>`;
}

// A page's form has fewer fields.
const fieldsMax = 20;

/** Returns the error for an invalid parameter; on a page with filters, with a form of all usable parameters. */
export function invalidRequest(
  { parameter, message, value }: InvalidParameter,
  { exchange: { method, path }, query }: Pick<Context, "exchange" | "query">,
): RefusedPage {
  const typed = [...new URLSearchParams(query)]
    .filter(([name]) => name !== parameter || value !== null).slice(0, fieldsMax);
  return new RefusedPage(
    400,
    "Invalid request",
    markup`<p class="bad message" role="alert">${safeText(parameter)}: ${message}.${
      value !== null && markup` It was “${safeText(value)}”.`
    }</p>
${
      method === "POST" ? markup`<p>Nothing was changed.</p>` : filterForm(
        path,
        typed.map(([name, text]) =>
          textField(name, { label: name, value: keyInText.test(text) ? "" : text })
        ),
      )
    }`,
  );
}
