/**
 * Query parameters, read strictly: what is misspelled, repeated or malformed is refused by name and never left out of
 * what is asked.
 */

import { parseSpanMs, parseTime, type TimeZone, utc } from "../http/time_zone.ts";
import { trimmed } from "../lead/text.ts";

/** A parameter is wrong: 400. The message says what it takes. */
export class InvalidParameter extends Error {
  override readonly name = "InvalidParameter";
  readonly parameter: string;

  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}

// Longer names are cut in messages.
const nameLengthMax = 64;

/** The parameters of a request, or the fields of a form. */
export class Parameters {
  readonly #values = new Map<string, string[]>();
  readonly #zone: TimeZone;
  readonly #nowMs: number;

  /**
   * Reads a query, in which each comes at most once and has a value. With `isForm` it is what a form has sent: a field may
   * come several times, a blank one is none, and white space at the ends does not count. A time without an offset is one
   * of `zone`, a span such as `7d` counts back from `nowMs`.
   *
   * @throws {InvalidParameter} for one that is not in `known`, or is not as it has to be
   */
  constructor(
    query: string,
    known: readonly string[],
    { zone = utc, nowMs = Date.now(), isForm = false } = {},
  ) {
    this.#zone = zone;
    this.#nowMs = nowMs;
    if (isForm && /%(?![0-9a-f]{2})/i.test(query)) {
      throw new InvalidParameter("query", "It contains an invalid percent escape");
    }
    for (const [name, value] of pairs(query)) {
      const reported = name.slice(0, nameLengthMax).toWellFormed();
      if (!known.includes(name)) {
        throw new InvalidParameter(
          reported,
          `There is no such parameter; there are ${known.join(", ") || "none"}`,
        );
      }
      if (value.includes("\0")) throw new InvalidParameter(reported, "It contains a NUL character");
      const values = this.#values.get(name) ?? [];
      if (isForm) {
        // As the envelope is trimmed: a byte-order mark is no white space there, and a term may begin with one.
        const text = trimmed(value);
        if (text === "") continue;
        values.push(text);
      } else {
        if (values.length > 0) throw new InvalidParameter(reported, "It is given twice");
        if (value.trim() === "") throw new InvalidParameter(reported, "It has no value");
        values.push(value);
      }
      this.#values.set(name, values);
    }
  }

  /** All values of a field, in their order. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The value, or `null`. */
  text(name: string): string | null {
    const [value = null, ...others] = this.all(name);
    if (others.length > 0) throw new InvalidParameter(name, "It is given twice");
    return value;
  }

  /** A value of this shape, or `null`. */
  shaped(name: string, shape: RegExp): string | null {
    const value = this.text(name);
    if (value !== null && !shape.test(value)) {
      throw new InvalidParameter(name, "It has the wrong format");
    }
    return value;
  }

  /** One of a few words, or `null`. */
  word<T extends string>(name: string, words: readonly T[]): T | null {
    const value = this.text(name);
    if (value === null) return null;
    const word = words.find((one) => one === value);
    if (word === undefined) throw new InvalidParameter(name, `It must be one of ${words.join(", ")}`);
    return word;
  }

  /** A whole number within bounds, or `otherwise`. */
  count(name: string, { most, otherwise }: { readonly most: number; readonly otherwise: number }): number {
    const value = this.text(name);
    if (value === null) return otherwise;
    const count = /^[1-9]\d{0,8}$/.test(value) ? Number(value) : 0;
    if (count < 1 || count > most) {
      throw new InvalidParameter(name, `It must be a whole number from 1 to ${most}`);
    }
    return count;
  }

  /**
   * A time as ISO 8601 in UTC, or `null`. A day alone is its beginning; an hour that comes twice is the first. A span such as
   * `7d` is that long ago.
   */
  time(name: string): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const spanMs = parseSpanMs(value);
    const time = spanMs === null
      ? parseTime(value, this.#zone)
      : new Date(Math.max(0, this.#nowMs - spanMs)).toISOString();
    if (time === null) {
      throw new InvalidParameter(
        name,
        "It must be an ISO 8601 date or time, such as 2026-11-20 or 2026-11-20T14:00:00Z, or a time span before now, such as 7d",
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

/** Refuses a span that holds nothing. */
export function requireSpan(since: string | null, until: string | null): void {
  if (since !== null && until !== null && since >= until) {
    throw new InvalidParameter("until", "It must be after since");
  }
}
