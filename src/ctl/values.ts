/**
 * Reads the values of arguments: times, counts, names. What is wrong whatever the store holds is wrong
 * usage, and found before the store is asked.
 */

import { parseSpanMs, parseTime as parseIsoTime } from "#src/http/time_zone.ts";
import { WrongUsage } from "./command.ts";

interface TimeOptions {
  readonly name: string;
  readonly direction: "past" | "future";
  readonly nowMs: number;
}

/**
 * A TIME as ISO 8601 in UTC. `direction` says which way a span such as `2h` counts from `nowMs`.
 *
 * Chosen: a time without an offset is UTC, because every time that the service prints is.
 */
export function parseTime(text: string, options: TimeOptions): string {
  const { direction, nowMs } = options;
  const spanMs = parseSpanMs(text);
  const timeMs = spanMs === null
    ? Date.parse(parseIsoTime(text) ?? "")
    : direction === "past"
    ? nowMs - spanMs
    : nowMs + spanMs;
  if (!(timeMs >= 0 && timeMs <= Date.UTC(9999, 0))) throw wrongTime(text, options);
  if (direction === "future" && timeMs <= nowMs) {
    throw new WrongUsage(`${options.name} must lie in the future: ${text}`);
  }
  return new Date(timeMs).toISOString();
}

function wrongTime(text: string, { name, direction }: TimeOptions): WrongUsage {
  const spans = direction === "past" ? "2h or 7d, counted back from now" : "2h or 7d, counted from now";
  return new WrongUsage(`${name} is no time: ${text} (write 2026-09-30T12:00Z, or ${spans})`);
}

/** A whole number from 1 to `max`. */
export function parseCount(text: string, name: string, max: number): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > max) {
    throw new WrongUsage(`${name} must be a whole number from 1 to ${max}: ${text}`);
  }
  return count;
}

/** The id of a key or a collision: decimal digits. */
export function parseId(text: string, listCommand: string): string {
  // The text is not repeated: it may be a key that was pasted here.
  if (!/^\d{1,18}$/.test(text)) throw new WrongUsage(`ID must be a number, as ${listCommand} shows it`);
  return String(BigInt(text));
}

/** The shape of a slug. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/.test(text);
}

/** A slug that is to be created. */
export function parseSlug(text: string): string {
  if (!isSlug(text)) {
    throw new WrongUsage(
      `SLUG must be 1 to 64 of a-z, 0-9 and -, with no - at either end: ${text}`,
    );
  }
  return text;
}

/** One line of text that a person reads: a label, a name. */
export function parseLine(text: string, name: string, lengthMax: number): string {
  const line = text.trim();
  if (line === "") throw new WrongUsage(`${name} must not be blank`);
  // Line and paragraph separators and the controls that reorder text would let it pose as other text.
  if (
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(line) || !line.isWellFormed()
  ) {
    throw new WrongUsage(`${name} must not hold control characters`);
  }
  if ([...line].length > lengthMax) throw new WrongUsage(`${name} is longer than ${lengthMax} characters`);
  return line;
}
