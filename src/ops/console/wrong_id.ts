/** The page for an id that identifies nothing: it keeps what was typed in the search box, and says what it looks like. */

import { type Markup, markup } from "../../http/markup.ts";
import { eventIdLength } from "../../contract/event_id.ts";
import { readingsOf } from "../../lead/identifier.ts";
import { findPath, RefusedPage } from "./layout.ts";
import { queryString, slugPattern } from "./request.ts";
import { eventLink, tenantLink, truncated } from "./text.ts";

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
