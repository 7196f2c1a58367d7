/** `GET /v1/leads`: searches leads and form submissions, newest first. */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { eventIdLength } from "../contract/event_id.ts";
import { fields, flagNames } from "../contract/fields.ts";
import type { Handler } from "../http/exchange.ts";
import { searchedPhone } from "../lead/phone.ts";
import { normalizeLine, withoutControls } from "../lead/text.ts";
import { InvalidParameter, Parameters, requireTimeRange } from "./parameters.ts";
import { jsonReply } from "./reply.ts";
import {
  acceptedJson,
  readEvents,
  removedJson,
  type StoredEvent,
  summaryJson,
  verdictJson,
} from "../store/operator/events.ts";
import { snakeCased } from "../store/operator/snake_case.ts";
import { searchEvents, type SearchFilter } from "../store/operator/search.ts";
import type { Pool } from "../store/pool.ts";

const cursorDigestLength = 12;
const idPattern = new RegExp(`^[0-9a-f]{${eventIdLength}}$`);

/** Returns the cursor for the page after an event, valid only for the same canonical query. */
export function encodeCursor(eventId: string, canonical: string): string {
  return Buffer.from(cursorDigest(eventId, canonical) + eventId).toString("base64url");
}

/** Returns the event id in a cursor, or `null` if the cursor is malformed or from another query. */
export function decodeCursor(cursor: string, canonical: string): string | null {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  const eventId = text.slice(cursorDigestLength);
  if (!idPattern.test(eventId) || encodeCursor(eventId, canonical) !== cursor) return null;
  return eventId;
}

function cursorDigest(eventId: string, canonical: string): string {
  return hash("sha256", `leads 1 ${eventId} ${canonical}`, "hex").slice(0, cursorDigestLength);
}

const kinds = ["lead", "form"] as const;
export const states = ["pending", "sending", "delivered", "marked", "dead", "held", "erased"] as const;

const limitMax = 500;
const limitDefault = 50;

export const filterNames = [
  "tenant",
  "source",
  "kind",
  "flag",
  "state",
  "since",
  "until",
  "phone",
  "email",
  "last_name",
] as const;

/**
 * Chosen: an event whose content was removed (by an erasure or at the end of its retention) is listed with `content` and
 * `removed_at`. Searches by person no longer find it.
 */
export function leadsHandler(
  { pool, searchPool }: { readonly pool: Pool; readonly searchPool: Pool },
): Handler {
  return async ({ query }) => {
    const parameters = new Parameters(query, [...filterNames, "limit", "cursor"]);
    const filter = readFilter(parameters);
    const limit = parameters.count("limit", { max: limitMax, fallback: limitDefault });
    const canonical = canonicalQuery(filter, parameters);
    const cursor = parameters.text("cursor");
    const before = cursor === null ? null : decodeCursor(cursor, canonical);
    if (cursor !== null && before === null) {
      throw new InvalidParameter("cursor", "It must be a next_cursor from the same query");
    }
    const page = await searchEvents(searchPool, filter, { before, limit });
    const events = await readEvents(pool, page.eventIds, { withRaw: false });
    const leads = events.filter((event) => event !== null).map(leadJson);
    const next = page.before === null ? null : encodeCursor(page.before, canonical);
    return jsonReply(200, `{"leads":[${leads.join(",")}],"next_cursor":${JSON.stringify(next)}}`);
  };
}

/** Returns the canonical query, with times as sent, because `7d` means a different time in each request. */
export function canonicalQuery(filter: SearchFilter, parameters: Parameters): string {
  return JSON.stringify({ ...filter, since: parameters.text("since"), until: parameters.text("until") });
}

/** @throws {InvalidParameter} if a filter's value is invalid */
export function readFilter(parameters: Parameters): SearchFilter {
  const since = parameters.time("since");
  const until = parameters.time("until");
  requireTimeRange(since, until);
  return {
    tenant: parameters.text("tenant"),
    source: parameters.text("source"),
    kind: parameters.oneOf("kind", kinds),
    flag: parameters.oneOf("flag", flagNames),
    state: parameters.oneOf("state", states),
    since,
    until,
    phone: phoneParameter(parameters),
    emails: emailSpellings(parameters),
    lastName: normalizedLine(parameters, "last_name", fields.last_name.lengthMax),
  };
}

/** Normalizes a parameter like the envelope's fields, so that it matches the stored values. */
function normalizedLine(parameters: Parameters, name: string, lengthMax: number): string | null {
  const sent = parameters.text(name);
  if (sent === null) return null;
  const text = normalizeLine(sent);
  if (text === "" || [...text].length > lengthMax) {
    throw new InvalidParameter(name, `It must have 1 to ${lengthMax} characters`);
  }
  return text;
}

/**
 * Returns the lower-case spellings under which an address could be stored: as received, and with each space replaced by a
 * plus sign, because an unescaped plus sign arrives as a space.
 */
function emailSpellings(parameters: Parameters): string[] {
  const sent = normalizedLine(parameters, "email", fields.email.lengthMax)?.toLowerCase();
  return sent === undefined ? [] : [...new Set([sent, sent.replaceAll(" ", "+")])];
}

function phoneParameter(parameters: Parameters): string | null {
  const sent = parameters.text("phone");
  if (sent === null) return null;
  const text = withoutControls(sent);
  if (text === "" || [...text].length > fields.phone.lengthMax) {
    throw new InvalidParameter("phone", `It must have 1 to ${fields.phone.lengthMax} characters`);
  }
  return searchedPhone(text);
}

/** Serializes an event; `lead` and `extra` are embedded as stored, so that they keep every digit. */
function leadJson(event: StoredEvent): string {
  const { state } = event.delivery;
  const members = Object.entries({
    ...summaryJson(event),
    state,
    ...verdictJson(event),
    ...acceptedJson(event),
    ...removedJson(event),
    delivery: snakeCased(event.delivery),
  }).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const content = event.kind === "lead" ? "lead" : "submission";
  members.push(`"${content}":${event.lead ?? "null"}`, `"extra":${event.extra ?? "{}"}`);
  return `{${members.join(",")}}`;
}
