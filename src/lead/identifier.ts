/**
 * Recognizes, by its shape, what an operator searches for. A text may have several readings, and a search tries all of
 * them. This module is browser compatible.
 */

import { keyInText } from "../contract/api_key.ts";
import { eventIdLength, shortEventIdLength } from "../contract/event_id.ts";
import { fields, fullNameLengthMax } from "../contract/fields.ts";
import { splitName } from "./full_name.ts";
import { searchedPhone } from "./phone.ts";
import { isLongerThan, normalizeLine, withoutControls } from "./text.ts";

/** The readings of a text, each as it is stored in the search's index. */
export interface Readings {
  /** What the text most probably is, with an article: `a phone number`. */
  readonly looksLike: string;
  /** The id of a lead or submission, or its beginning; `null` if the text has another shape. */
  readonly eventId: string | null;
  /** {@linkcode searchedPhone} */
  readonly phone: string | null;
  readonly emails: readonly string[];
  /** Beginnings of a last name or a full name. */
  readonly names: readonly string[];
  /** An external_id, Idempotency-Key or X-Request-Id. */
  readonly ids: readonly string[];
}

const eventIdPattern = new RegExp(`^[0-9a-f]{${shortEventIdLength},${eventIdLength}}$`);
const requestIdPattern = /^[0-9a-f]{24}$/;
const phoneDigitsMin = 7;
const nameLengthMin = 2;
/** The length of the longest identifier, an email address. */
const textLengthMax = fields.email.lengthMax;

/** Returns a text's readings, or as a sentence without a final period why it cannot identify anything. */
export function readingsOf(sent: string): Readings | string {
  const text = unquoted(withoutControls(sent));
  if (text === "") return "There is nothing to find: the text is blank";
  if (keyInText.test(text)) {
    return "This is an API key, which no search may contain; ctl key list finds it by its last four characters";
  }
  if (isLongerThan(text, textLengthMax)) {
    return `The text is longer than any identifier: the longest, an email address, has ${textLengthMax} characters`;
  }
  const line = normalizeLine(text);
  const id = text.toLowerCase().replace(/(?:…|\.{3})$/, "");
  const eventId = eventIdPattern.test(id) ? id : null;
  const phone = isPhone(text) ? searchedPhone(text) : null;
  const emails = line.includes("@") ? emailsOf(line) : [];
  return {
    looksLike: emails.length > 0
      ? "an email address"
      : eventId?.length === eventIdLength
      ? "an event id"
      : requestIdPattern.test(id)
      ? "a request id"
      // An id may begin with digits only; until 2112 it begins with 0, and few phone numbers do.
      : eventId !== null && (phone === null || /^0[0-9a-f]{7}$/.test(id))
      ? "the beginning of an event id"
      : phone !== null
      ? "a phone number"
      : /^[\p{L}\p{M}\p{White_Space}.,'’-]+$/u.test(line)
      ? "a name"
      : "an Idempotency-Key, an external_id or a request id",
    eventId,
    phone,
    emails,
    names: emails.length === 0 ? namesOf(line) : [],
    // A copied id may have had its quotes when it was sent.
    ids: [...new Set([text, line, withoutControls(sent), ...(requestIdPattern.test(id) ? [id] : [])])],
  };
}

/** Removes the quotes around a text that was copied from JSON or a log. */
function unquoted(text: string): string {
  return /^(["'`]).*\1$/su.test(text) ? withoutControls(text.slice(1, -1)) : text;
}

/** Whether a text is digits and formatting, perhaps with a scheme or an extension. */
function isPhone(text: string): boolean {
  const others = text.replace(/^tel:/i, "").replace(/\b(?:extension|ext?|x)\b\.?|x(?=\p{Nd})/giu, "");
  return !/[\p{L}@_]/u.test(others) && (text.match(/\p{Nd}/gu) ?? []).length >= phoneDigitsMin;
}

function emailsOf(line: string): string[] {
  const [, inBrackets] = /<([^<>]*)>$/.exec(line) ?? [];
  const address = (inBrackets ?? line).toLowerCase();
  // Stored as sent.
  return [...new Set([address.replace(/^mailto:/, ""), address])];
}

/** Returns the beginnings of names that a text may be; with a comma, the last name may come first. */
function namesOf(line: string): string[] {
  if (!/\p{L}/u.test(line) || [...line].length < nameLengthMin) return [];
  const orders = line.includes(",") ? [line, splitName(line).join(" ")] : [line];
  return [...new Set(orders.flatMap(nameSpellings))].filter((name) => !isLongerThan(name, fullNameLengthMax));
}

/**
 * Returns the spellings that a name may have in the index, which lower-cases only ASCII in a lead's name, and all letters
 * in a submission's: `renée` and `renÉe`.
 */
export function nameSpellings(name: string): string[] {
  const lower = name.toLowerCase();
  const title = lower.replace(/(?<![\p{L}\p{M}\p{N}])\p{L}/gu, (letter) => letter.toUpperCase());
  const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Set([lower, title, name, lower.toUpperCase()].map(ascii))];
}
