/** Entity tags, HTTP dates, conditional requests and ranges (RFC 9110, sections 5.6.7, 8.8, 13 and 14). */

import { Buffer } from "node:buffer";
import type { Exchange } from "./exchange.ts";

/** Returns a strong entity tag: the first 128 bits of a SHA-256 digest. */
export function strongTag(digest: Uint8Array): string {
  return `"${Buffer.from(digest.buffer, digest.byteOffset, 16).toString("base64url")}"`;
}

const tagShape = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Parses a list of tags or `*`, and skips invalid tags. A tag may contain a comma. */
export function parseTags(header: string): readonly string[] | "*" {
  if (header.trim() === "*") return "*";
  return (header.match(/(?:W\/)?"[^"]*"|[^\s,][^,]*/g) ?? []).map((part) => part.trim())
    .filter((part) => tagShape.test(part));
}

/** Whether a list contains a tag by strong comparison; a weak tag matches only `*`. */
function hasTagStrongly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || (!tag.startsWith("W/") && tags.includes(tag));
}

/** Whether a list contains a tag by weak comparison. */
export function hasTagWeakly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || tags.some((other) => opaqueTag(other) === opaqueTag(tag));
}

function opaqueTag(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const httpDateFormats = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  /^\w{3}, (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sunday, 06-Nov-94 08:49:37 GMT
  /^\w{6,9}, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/i,
  // Sun Nov  6 08:49:37 1994
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/i,
];

export function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}

/** Returns milliseconds since 1970; `null` unless the date is valid in one of the three formats. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const fields = httpDateFormats.map((format) => format.exec(text)?.groups)
    .find((groups) => groups !== undefined);
  if (fields === undefined) return null;
  const { day = "", month = "", year = "", time = "" } = fields;
  const index = months.indexOf(month.toLowerCase());
  const [hours, minutes, seconds] = time.split(":").map(Number) as [number, number, number];
  if (index === -1 || hours > 23 || minutes > 59 || seconds > 60) return null;
  const fullYear = year.length === 2 ? nearestYear(Number(year), nowMs) : Number(year);
  const atMs = Date.UTC(fullYear, index, Number(day), hours, minutes, seconds);
  // Date.UTC rolls an invalid day over into the next month.
  return new Date(atMs).getUTCDate() === Number(day) || seconds === 60 ? atMs : null;
}

/** Expands a two-digit year; one that seems more than 50 years ahead is in the past (RFC 9110, section 5.6.7). */
function nearestYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

interface Validators {
  /** A strong tag with its quotation marks. */
  readonly tag: string;
  readonly modifiedMs: number;
}

/** The age at which a modification date becomes a strong validator (RFC 9110, section 8.8.2.2). */
const strongDateAgeMs = 1_000;

/** Evaluates the preconditions of a GET or HEAD: `not_modified` means 304, and `failed` means 412. */
export function evaluatePreconditions(
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

/** Whether `Range` applies: `If-Range` is absent or matches this representation. */
export function rangeApplies(
  exchange: Pick<Exchange, "header">,
  { tag, modifiedMs }: Validators,
  nowMs: number,
): boolean {
  const ifRange = exchange.header("if-range");
  if (ifRange === undefined) return true;
  if (/^(W\/)?"/.test(ifRange)) return ifRange === tag;
  const modified = wholeSeconds(modifiedMs);
  return parseHttpDate(ifRange, nowMs) === modified && nowMs - modified > strongDateAgeMs;
}

function wholeSeconds(atMs: number): number {
  return Math.floor(atMs / 1_000) * 1_000;
}

/** A range of bytes; `end` is exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

type RangeRequest =
  /** `last` is inclusive; `Infinity` for an open end. */
  | { readonly kind: "from"; readonly first: number; readonly last: number }
  | { readonly kind: "suffix"; readonly length: number };

/**
 * Parses `Range`; `null` if it is absent, malformed or reversed, or has another unit. Chosen: multiple ranges are
 * ignored too, as the RFC allows, because real clients request one and attackers many.
 */
export function parseRange(header: string | undefined): RangeRequest | null {
  const [, list] = /^bytes=(.*)$/i.exec(header ?? "") ?? [];
  if (list === undefined) return null;
  const [range, ...others] = list.split(",").filter((member) => !/^[ \t]*$/.test(member));
  const [, first, last] = /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(range ?? "") ?? [];
  if (others.length > 0 || first === undefined || last === undefined) return null;
  if (first === "") return last === "" ? null : { kind: "suffix", length: Number(last) };
  const parsed = { kind: "from", first: Number(first), last: last === "" ? Infinity : Number(last) } as const;
  return parsed.last < parsed.first ? null : parsed;
}

/** Clips a range to `size` bytes; `null` if it is unsatisfiable (416). */
export function rangeWithin(request: RangeRequest, size: number): ByteRange | null {
  if (request.kind === "suffix") {
    const start = Math.max(0, size - request.length);
    return start < size ? { start, end: size } : null;
  }
  const { first, last } = request;
  return first < size ? { start: first, end: Math.min(size, last + 1) } : null;
}
