/** Recognizes, by its shape, what an operator searches for. This module is browser compatible. */

import { keyInText } from "../contract/api_key.ts";
import { eventIdLength } from "../contract/event_id.ts";
import { toE164 } from "./phone.ts";

/** The readings of a text. */
export interface Readings {
  /** What the text most probably is, with an article: `a phone number`. */
  readonly looksLike: string;
  /** The id of a lead or submission, or its beginning; `null` if the text has another shape. */
  readonly eventId: string | null;
}

// Chosen: 8 digits, as lists show ids.
const eventIdPattern = new RegExp(`^[0-9a-f]{8,${eventIdLength}}$`);

/** Returns a text's readings, or as a sentence without a final period why it cannot identify anything. */
export function readingsOf(text: string): Readings | string {
  if (keyInText.test(text)) {
    return "This is an API key, which belongs into no search; ctl key list finds it by its last four characters";
  }
  const eventId = eventIdPattern.test(text) ? text : null;
  return {
    looksLike: text.includes("@")
      ? "an email address"
      : eventId?.length === eventIdLength
      ? "an event id"
      : toE164(text, "US") !== null
      ? "a phone number"
      : eventId !== null
      ? "the beginning of an event id"
      : /^[\p{L}\p{M}\p{White_Space}.,'’-]+$/u.test(text)
      ? "a name"
      : "an Idempotency-Key, an external_id or a request id",
    eventId,
  };
}
