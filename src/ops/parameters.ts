/**
 * Parses query parameters strictly: an unknown, repeated or malformed parameter is rejected with an error that names it.
 * Forms are parsed more leniently.
 */

import { keyInText } from "../contract/api_key.ts";
import { parseDurationMs, parseTime, type TimeZone, utc } from "../http/time_zone.ts";
import { lineFault, trimWhiteSpace } from "../lead/text.ts";

/** An invalid parameter (400); the message says what is wrong or which values are accepted. */
export class InvalidParameter extends Error {
  override readonly name = "InvalidParameter";
  readonly parameter: string;
  /** What was sent, to show it again; `null` if that is no use. */
  readonly value: string | null;

  constructor(parameter: string, message: string, value: string | null = null) {
    super(message);
    this.parameter = parameter;
    this.value = value;
  }
}

// Error messages truncate longer names.
const nameLengthMax = 64;

/** The parameters of a request, or the fields of a form. */
export class Parameters {
  readonly #values = new Map<string, string[]>();
  readonly #zone: TimeZone;
  readonly #nowMs: number;

  /**
   * Parses a query, in which each parameter must have a value and occur at most once. With `isForm`, it parses a submitted
   * form: fields may repeat, values are trimmed and blank ones ignored. A time without an offset is in `zone`; a duration
   * such as `7d` is subtracted from `nowMs`.
   *
   * @throws {InvalidParameter} for a parameter that is malformed or not in `known`
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
    for (const [name, value] of new URLSearchParams(query)) {
      const reportedName = name.slice(0, nameLengthMax).toWellFormed();
      if (!known.includes(name)) {
        throw new InvalidParameter(
          reportedName,
          `Unknown parameter; the known ones are: ${known.join(", ") || "none"}`,
        );
      }
      if (keyInText.test(value)) {
        throw new InvalidParameter(
          reportedName,
          "It contains an API key; ctl key list finds keys by their last four characters",
        );
      }
      if (value.includes("\0")) throw new InvalidParameter(reportedName, "It contains a NUL character");
      const values = this.#values.get(name) ?? [];
      if (isForm) {
        // Not `trim()`, which would also remove a leading byte-order mark, and an unknown term may begin with one.
        const text = trimWhiteSpace(value);
        if (text === "") continue;
        values.push(text);
      } else {
        if (values.length > 0) throw new InvalidParameter(reportedName, "It occurs more than once");
        if (value.trim() === "") throw new InvalidParameter(reportedName, "It has no value");
        values.push(value);
      }
      this.#values.set(name, values);
    }
  }

  /** Returns all values of a field, in order. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** Returns the value, or `null` if there is none. */
  text(name: string): string | null {
    const [value = null, ...others] = this.all(name);
    if (others.length > 0) throw new InvalidParameter(name, "It occurs more than once");
    return value;
  }

  /** Returns the value, which must match `pattern`, or `null` if there is none. */
  matching(name: string, pattern: RegExp): string | null {
    const value = this.text(name);
    if (value !== null && !pattern.test(value)) {
      throw new InvalidParameter(name, "It has the wrong format", value);
    }
    return value;
  }

  /** Returns the value, a line that an operator wrote, or `null` if there is none. */
  line(name: string, lengthMax: number): string | null {
    const value = this.text(name);
    const fault = value === null ? null : lineFault(value, lengthMax);
    if (fault !== null) throw new InvalidParameter(name, `It ${fault}`, value);
    return value;
  }

  /** Returns the value, which must be one of `words`, or `null` if there is none. */
  oneOf<T extends string>(name: string, words: readonly T[]): T | null {
    const value = this.text(name);
    if (value === null) return null;
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw new InvalidParameter(name, `It must be one of ${words.join(", ")}`);
    return word;
  }

  /** Returns the value, a whole number from 1 to `max`, or `fallback` if there is none. */
  count(name: string, { max, fallback }: { readonly max: number; readonly fallback: number }): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const count = /^[1-9]\d{0,8}$/.test(value) ? Number(value) : 0;
    if (count < 1 || count > max) {
      throw new InvalidParameter(name, `It must be a whole number from 1 to ${max}`);
    }
    return count;
  }

  /**
   * Returns the value as an ISO 8601 time in UTC, or `null` if there is none. A date means the start of that day. An
   * ambiguous local time means the earlier of the two times. A duration such as `7d` is subtracted from the current time.
   */
  time(name: string): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const durationMs = parseDurationMs(value);
    const time = durationMs === null
      ? parseTime(value, this.#zone)
      : new Date(Math.max(0, this.#nowMs - durationMs)).toISOString();
    if (time === null) {
      throw new InvalidParameter(
        name,
        "It must be an ISO 8601 date or time, such as 2026-11-20 or 2026-11-20T14:00:00Z, or a duration before now, such as 7d",
        value,
      );
    }
    return time;
  }
}

/** @throws {InvalidParameter} if both times are given and `until` is not after `since` */
export function requireTimeRange(since: string | null, until: string | null): void {
  if (since !== null && until !== null && since >= until) {
    throw new InvalidParameter("until", "It must be after since");
  }
}
