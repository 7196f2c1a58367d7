/** Conditional requests and ranges: RFC 9110, sections 5.6.7, 13.2.2 and 14. */

import { hasTagStrongly, hasTagWeakly } from "../etag.ts";
import type { Exchange } from "../exchange.ts";

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const shapes = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  /^\w{3}, (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sunday, 06-Nov-94 08:49:37 GMT
  /^\w{6,9}, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sun Nov  6 08:49:37 1994
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/i,
];

/** An HTTP date, to the second. */
export function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}

/** Parses HTTP's three date formats to milliseconds; `null` for anything else. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const found = shapes.map((shape) => shape.exec(text)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return null;
  const { day = "", month = "", year = "", time = "" } = found;
  const index = months.indexOf(month.toLowerCase());
  const [hours, minutes, seconds] = time.split(":").map(Number) as [number, number, number];
  if (index === -1 || hours > 23 || minutes > 59 || seconds > 60) return null;
  const fullYear = year.length === 2 ? nearestYear(Number(year), nowMs) : Number(year);
  const atMs = Date.UTC(fullYear, index, Number(day), hours, minutes, seconds);
  // An invalid day of the month.
  return new Date(atMs).getUTCDate() === Number(day) || seconds === 60 ? atMs : null;
}

/** A two-digit year more than 50 years ahead is in the past. */
function nearestYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

/** A representation's validators. */
export interface Validators {
  /** A strong entity tag with quotes. */
  readonly tag: string;
  readonly modifiedMs: number;
}

/** Whether a date is a strong validator: section 8.8.2.2. */
const dateIsStrongAfterMs = 1_000;

/** Evaluates a GET's or HEAD's preconditions: 200, 304 or 412. */
export function evaluate(
  exchange: Pick<Exchange, "header">,
  { tag, modifiedMs }: Validators,
  nowMs: number,
): "proceed" | "not_modified" | "failed" {
  const modified = wholeSeconds(modifiedMs);
  const date = (name: string) => parseHttpDate(exchange.header(name) ?? "", nowMs);
  const ifMatch = exchange.header("if-match");
  if (ifMatch !== undefined) {
    if (!hasTagStrongly(ifMatch, tag)) return "failed";
  } else {
    const since = date("if-unmodified-since");
    if (since !== null && modified > since) return "failed";
  }
  const ifNoneMatch = exchange.header("if-none-match");
  if (ifNoneMatch !== undefined) return hasTagWeakly(ifNoneMatch, tag) ? "not_modified" : "proceed";
  const since = date("if-modified-since");
  return since !== null && modified <= since ? "not_modified" : "proceed";
}

/** Whether `Range` applies: no `If-Range`, or it matches this representation. */
export function rangeHolds(
  exchange: Pick<Exchange, "header">,
  { tag, modifiedMs }: Validators,
  nowMs: number,
): boolean {
  const ifRange = exchange.header("if-range");
  if (ifRange === undefined) return true;
  if (/^(W\/)?"/.test(ifRange)) return ifRange === tag;
  const modified = wholeSeconds(modifiedMs);
  return parseHttpDate(ifRange, nowMs) === modified && nowMs - modified > dateIsStrongAfterMs;
}

/** The `Last-Modified` of a time. */
function wholeSeconds(atMs: number): number {
  return Math.floor(atMs / 1_000) * 1_000;
}

/** Bytes from `start` to `end`, exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A parsed `Range`. */
export type RangeRequest =
  /** From `first` to `last`, inclusive; an open end is `Infinity`. */
  | { readonly kind: "from"; readonly first: number; readonly last: number }
  | { readonly kind: "suffix"; readonly length: number };

/**
 * Parses `Range`; `null` if it is to be ignored: another unit, malformed, or inverted.
 *
 * Chosen: several ranges are ignored too, as the RFC allows; real clients request one, and attackers many.
 */
export function parseRange(header: string | undefined): RangeRequest | null {
  const [, list] = /^bytes=(.*)$/i.exec(header ?? "") ?? [];
  if (list === undefined) return null;
  // Lists may have empty members.
  const [range, ...others] = list.split(",").filter((member) => !/^[ \t]*$/.test(member));
  const [, first, last] = /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(range ?? "") ?? [];
  if (others.length > 0 || first === undefined || last === undefined) return null;
  if (first === "") return last === "" ? null : { kind: "suffix", length: Number(last) };
  const open = { kind: "from", first: Number(first), last: last === "" ? Infinity : Number(last) } as const;
  return open.last < open.first ? null : open;
}

/** The range within `size` bytes; `null` if unsatisfiable (416). */
export function rangeWithin(request: RangeRequest, size: number): ByteRange | null {
  if (request.kind === "suffix") {
    const start = Math.max(0, size - request.length);
    return start < size ? { start, end: size } : null;
  }
  const { first, last } = request;
  return first < size ? { start: first, end: Math.min(size, last + 1) } : null;
}
