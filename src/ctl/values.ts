/**
 * Parses argument values: times, counts, names. A value that is invalid regardless of the store's content is a usage
 * error, and is rejected before the first query.
 */

import { readingsOf } from "#src/lead/identifier.ts";
import { lineFault } from "#src/lead/text.ts";
import { parseDurationMs, parseTime as parseIsoTime } from "#src/http/time_zone.ts";
import { eventIdLength } from "#src/contract/event_id.ts";
import { UsageError } from "./command.ts";

interface TimeOptions {
  readonly name: string;
  readonly direction: "past" | "future";
  readonly nowMs: number;
}

/**
 * Parses a TIME and returns it in ISO 8601, UTC. A duration such as `2h` is subtracted from `nowMs` for `past`, and added
 * to it for `future`. A future time must be later than `nowMs`.
 *
 * Chosen: a time without an offset is UTC, because the service prints every time in UTC.
 */
export function parseTime(text: string, options: TimeOptions): string {
  const { direction, nowMs } = options;
  const durationMs = parseDurationMs(text);
  const timeMs = durationMs === null
    ? Date.parse(parseIsoTime(text) ?? "")
    : direction === "past"
    ? nowMs - durationMs
    : nowMs + durationMs;
  if (!(timeMs >= 0 && timeMs <= Date.UTC(9999, 0))) throw invalidTime(text, options);
  if (direction === "future" && timeMs <= nowMs) {
    throw new UsageError(`${options.name} must be in the future: ${text}`);
  }
  return new Date(timeMs).toISOString();
}

function invalidTime(text: string, { name, direction }: TimeOptions): UsageError {
  const durations = direction === "past" ? "2h or 7d, counted back from now" : "2h or 7d, counted from now";
  return new UsageError(`${name} is not a valid time: ${text} (use 2026-09-30T12:00Z, or ${durations})`);
}

/** Parses a whole number from 1 to `max`. */
export function parseCount(text: string, name: string, max: number): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > max) {
    throw new UsageError(`${name} must be a whole number from 1 to ${max}: ${text}`);
  }
  return count;
}

/** Parses one of several words. */
export function parseChoice<Word extends string>(text: string, name: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new UsageError(`${name} must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}: ${text}`);
}

/** Parses the id of a key or a collision: decimal digits. */
export function parseId(text: string, listCommand: string): string {
  // The message does not echo the text, which could be a key pasted by mistake.
  if (!/^\d{1,18}$/.test(text)) throw new UsageError(`ID must be a number, as shown by ${listCommand}`);
  return String(BigInt(text));
}

const eventIdPattern = new RegExp(`^[0-9a-f]{${eventIdLength}}$`);

/** Parses the id of an event. */
export function parseEventId(text: string, name = "EVENT_ID"): string {
  if (eventIdPattern.test(text)) return text;
  const readings = readingsOf(text);
  // The message does not echo the text, which could be a key or an address.
  const hint = typeof readings === "string"
    ? readings
    : `This looks like ${readings.looksLike}, which ctl find looks up`;
  throw new UsageError(`${name} must be ${eventIdLength} digits 0-9 and letters a-f. ${hint}`);
}

/** Parses the ids of events, each once. */
export function parseEventIds(texts: readonly string[], name?: string): string[] {
  return [...new Set(texts)].map((text) => parseEventId(text, name));
}

/** Whether a text is a well-formed slug. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/.test(text);
}

export function parseSlug(text: string): string {
  if (!isSlug(text)) {
    throw new UsageError(
      `SLUG must be 1 to 64 characters (a-z, 0-9 or hyphen) and must not start or end with a hyphen: ${text}`,
    );
  }
  return text;
}

/** Parses one line of text, such as a label or a name. */
export function parseLine(text: string, name: string, lengthMax: number): string {
  const line = text.trim();
  const fault = lineFault(line, lengthMax);
  if (fault !== null) throw new UsageError(`${name} ${fault}`);
  return line;
}
