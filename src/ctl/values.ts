/**
 * Reads the values of arguments: times, counts, names. What is wrong whatever the store holds is wrong
 * usage, and found before the store is asked.
 *
 * @module
 */

import { WrongUsage } from "./command.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const isoShape = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2}(?:\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

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
  const span = /^(\d{1,6})([smhdw])$/.exec(text);
  if (span !== null) {
    const spanMs = Number(span[1]) * unitMs[span[2] as keyof typeof unitMs];
    const timeMs = options.direction === "past" ? options.nowMs - spanMs : options.nowMs + spanMs;
    return checkedTime(timeMs, text, options);
  }
  const iso = isoShape.exec(text);
  if (iso === null) throw wrongTime(text, options);
  const [, day, minutes = "00:00", seconds = ":00", offset = "Z"] = iso;
  // The parser of Date takes 2026-02-30 for the second of March.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(`${day}`)) {
    throw wrongTime(text, options);
  }
  const zone = offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, "$1:$2");
  return checkedTime(Date.parse(`${day}T${minutes}${seconds}${zone}`), text, options);
}

function checkedTime(
  timeMs: number,
  text: string,
  options: TimeOptions,
): string {
  if (!Number.isFinite(timeMs) || timeMs < 0 || timeMs > Date.UTC(9999, 0)) {
    throw wrongTime(text, options);
  }
  if (options.direction === "future" && timeMs <= options.nowMs) {
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
