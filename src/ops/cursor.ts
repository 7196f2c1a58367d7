/**
 * The cursor of a search: where the next page begins. Whoever holds one is to hand it back as it is; it carries a
 * digest of itself and of the question that it belongs to, so that a damaged one, or one of another question, is
 * refused and never answers something that was not asked.
 *
 * Chosen: a digest without a secret. It guards against mistakes; who reaches this listener may see everything anyway.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { eventIdLength } from "../contract/event_id.ts";

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
