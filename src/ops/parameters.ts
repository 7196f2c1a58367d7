/**
 * Query parameters, read strictly: what is misspelled, repeated or malformed is refused by name and never left out of
 * what is asked.
 *
 * @module
 */

import { type TimeZone, utc } from "./time_zone.ts";

/** A parameter is wrong: 400. The message says what it takes. */
export class InvalidParameter extends Error {
  override readonly name = "InvalidParameter";
  readonly parameter: string;

  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}

// A name is told back so that it can be found; no longer than any there is.
const nameLengthMax = 64;

/** The parameters of a request, each at most once. */
export class Parameters {
  readonly #values = new Map<string, string>();
  readonly #zone: TimeZone;

  /**
   * Reads a query. A time without an offset is one of `zone`.
   *
   * @throws {InvalidParameter} for one that is not in `known`, comes twice or has no value
   */
  constructor(query: string, known: readonly string[], zone = utc) {
    this.#zone = zone;
    for (const [name, value] of pairs(query)) {
      const told = name.slice(0, nameLengthMax).toWellFormed();
      if (!known.includes(name)) {
        throw new InvalidParameter(told, `There is no such parameter; there are ${known.join(", ")}`);
      }
      if (this.#values.has(name)) throw new InvalidParameter(told, "It is there twice");
      if (value.includes("\0")) throw new InvalidParameter(told, "It has a character that no text has");
      if (value.trim() === "") throw new InvalidParameter(told, "It has no value");
      this.#values.set(name, value);
    }
  }

  /** As sent, or `null`. */
  text(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  /** One of a few words, or `null`. */
  word<T extends string>(name: string, words: readonly T[]): T | null {
    const value = this.text(name);
    if (value === null) return null;
    const word = words.find((one) => one === value);
    if (word === undefined) throw new InvalidParameter(name, `It is one of ${words.join(", ")}`);
    return word;
  }

  /** A whole number within bounds, or `otherwise`. */
  count(name: string, { most, otherwise }: { readonly most: number; readonly otherwise: number }): number {
    const value = this.text(name);
    if (value === null) return otherwise;
    const count = /^[1-9]\d{0,8}$/.test(value) ? Number(value) : 0;
    if (count < 1 || count > most) throw new InvalidParameter(name, `It is a whole number from 1 to ${most}`);
    return count;
  }

  /** A time as ISO 8601 in UTC, or `null`. A day alone is its beginning; an hour that comes twice is the first. */
  time(name: string): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const time = parseTime(value, this.#zone);
    if (time === null) {
      throw new InvalidParameter(
        name,
        "It is a day or a time of ISO 8601, such as 2026-11-20 or 2026-11-20T14:00:00Z",
      );
    }
    return time;
  }
}

/**
 * The pairs of a query; a plus sign is a space. What is no UTF-8 becomes U+FFFD, and matches nothing.
 *
 * One after the other, because the first that is wrong ends it, and the platform's parser searches all that is left of a
 * query for the equals sign of each.
 */
function* pairs(query: string): Generator<[string, string]> {
  for (const part of query.split("&")) yield* new URLSearchParams(part);
}

const timeShape =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z| ?[+-]\d{2}:?\d{2}| \d{2}:?\d{2})?)?$/i;

/**
 * Reads a day or a time, also as the console writes it. Chosen: a space for the plus sign of an offset is taken, because
 * that is what a query makes of it.
 */
function parseTime(text: string, zone: TimeZone): string | null {
  const parts = timeShape.exec(text.trim());
  if (parts === null) return null;
  const [, day = "", clock = "00:00", offset] = parts;
  const midnight = new Date(`${day}T00:00:00Z`);
  // February 30 would be March 2.
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return null;
  const shown = Date.parse(`${day}T${clock}Z`);
  if (Number.isNaN(shown)) return null;
  const atMs = offset === undefined
    ? zone.momentsOf(shown)[0]
    : Date.parse(`${day}T${clock}${isoOffset(offset)}`);
  return atMs >= 0 ? new Date(atMs).toISOString() : null;
}

function isoOffset(offset: string): string {
  if (/^z$/i.test(offset)) return "Z";
  return offset.replace(
    /^ ?([+-]?)(\d{2}):?(\d{2})$/,
    (_, sign, hours, minutes) => `${sign || "+"}${hours}:${minutes}`,
  );
}

/** Refuses a span that holds nothing. */
export function requireSpan(since: string | null, until: string | null): void {
  if (since !== null && until !== null && since >= until) {
    throw new InvalidParameter("until", "It is not after since");
  }
}
