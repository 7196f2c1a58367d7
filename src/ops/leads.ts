/** `GET /v1/leads`: leads and form submissions, the newest first. */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { eventIdLength } from "../contract/event_id.ts";
import { fields, flagNames } from "../contract/fields.ts";
import type { Handler } from "../http/exchange.ts";
import { toE164 } from "../lead/phone.ts";
import { asSent, normalizeLine } from "../lead/text.ts";
import { InvalidParameter, Parameters, requireSpan } from "./parameters.ts";
import { jsonText } from "./reply.ts";
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

const digestLength = 12;
// An id, or the end of a block of them.
const idShape = new RegExp(`^[0-9a-f]{5,${eventIdLength}}g?$`);

/** The cursor that goes on before an event, for a question in canonical text. */
export function cursorBefore(eventId: string, question: string): string {
  return Buffer.from(digest(eventId, question) + eventId).toString("base64url");
}

/** The event that a cursor goes on before, or `null` when it was not made for this question. */
export function readCursor(cursor: string, question: string): string | null {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  const eventId = text.slice(digestLength);
  if (!idShape.test(eventId) || cursorBefore(eventId, question) !== cursor) return null;
  return eventId;
}

function digest(eventId: string, question: string): string {
  return hash("sha256", `leads 1 ${eventId} ${question}`, "hex").slice(0, digestLength);
}

const kinds = ["lead", "form"] as const;
const states = ["pending", "sending", "delivered", "dead", "held", "erased"] as const;

const limitMax = 500;
const limitDefault = 50;

/** The parameters that say which events are wanted. */
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
 * The handler.
 *
 * Chosen: an event without its content (erased, or past its retention) is listed with `content` and `removed_at`; it is
 * found by tenant, source, time, flag and state, and no longer by a person.
 */
export function leadsHandler(pool: Pool): Handler {
  return async ({ query }) => {
    const parameters = new Parameters(query, [...filterNames, "limit", "cursor"]);
    const filter = readFilter(parameters);
    const limit = parameters.count("limit", { most: limitMax, otherwise: limitDefault });
    const question = questionOf(filter, parameters);
    const cursor = parameters.text("cursor");
    const before = cursor === null ? null : readCursor(cursor, question);
    if (cursor !== null && before === null) {
      throw new InvalidParameter("cursor", "It is not a next_cursor of the same question");
    }
    const found = await searchEvents(pool, filter, { before, limit });
    const events = await readEvents(pool, found.eventIds, { withRaw: false });
    const leads = events.filter((event) => event !== null).map(leadText);
    const next = found.before === null ? null : cursorBefore(found.before, question);
    return jsonText(200, `{"leads":[${leads.join(",")}],"next_cursor":${JSON.stringify(next)}}`);
  };
}

/** The question in canonical text: times as they were asked for, because a span ends at another moment each time. */
export function questionOf(filter: SearchFilter, parameters: Parameters): string {
  return JSON.stringify({ ...filter, since: parameters.text("since"), until: parameters.text("until") });
}

/**
 * Reads which events are wanted.
 *
 * @throws {InvalidParameter} when a value is none that the parameter takes
 */
export function readFilter(parameters: Parameters): SearchFilter {
  const since = parameters.time("since");
  const until = parameters.time("until");
  requireSpan(since, until);
  return {
    tenant: parameters.text("tenant"),
    source: parameters.text("source"),
    kind: parameters.word("kind", kinds),
    flag: parameters.word("flag", flagNames),
    state: parameters.word("state", states),
    since,
    until,
    phones: phones(parameters),
    emails: emails(parameters),
    lastName: line(parameters, "last_name", fields.last_name.lengthMax),
  };
}

/** As the envelope's fields are normalized, so that it finds what they have become. */
function line(parameters: Parameters, name: string, lengthMax: number): string | null {
  const sent = parameters.text(name);
  if (sent === null) return null;
  const text = normalizeLine(sent);
  if (text === "" || [...text].length > lengthMax) {
    throw new InvalidParameter(name, `It has 1 to ${lengthMax} characters`);
  }
  return text;
}

/**
 * What an address may be stored as: in lower case, and where it holds a space, with the plus sign that was not escaped
 * and arrives as one. An address has no space; what is none may have.
 */
function emails(parameters: Parameters): string[] {
  const sent = line(parameters, "email", fields.email.lengthMax)?.toLowerCase();
  return sent === undefined ? [] : [...new Set([sent, sent.replaceAll(" ", "+")])];
}

/** What a number may be stored as: E.164, and as it was sent where the lead's country spoke against that. */
function phones(parameters: Parameters): string[] {
  const sent = parameters.text("phone");
  if (sent === null) return [];
  // A plus sign that was not escaped arrives as a space.
  const text = asSent(/^ \d/.test(sent) ? `+${sent.slice(1)}` : sent);
  if (text === "" || [...text].length > fields.phone.lengthMax) {
    throw new InvalidParameter("phone", `It has 1 to ${fields.phone.lengthMax} characters`);
  }
  const e164 = toE164(text, "US");
  return [...new Set([...(e164 === null ? [] : [e164]), text])];
}

/** One event as JSON text: `lead` and `extra` are stored as JSON text and keep every digit. */
function leadText(event: StoredEvent): string {
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
