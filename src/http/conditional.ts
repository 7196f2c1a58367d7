/** Entity tags, HTTP dates, conditional requests and ranges (RFC 9110, sections 5.6.7, 8.8, 13 and 14). */

import { Buffer } from "node:buffer";
import type { Exchange } from "./exchange.ts";

/** Returns a strong entity tag: the first 128 bits of a SHA-256 digest. */
export function strongTag(digest: Uint8Array): string {
  return `"${Buffer.from(digest.buffer, digest.byteOffset, 16).toString("base64url")}"`;
}

/** Parses a list of tags or `*`; an invalid tag equals no tag of ours. A tag may contain a comma. */
export function parseTags(header: string): readonly string[] | "*" {
  return header.trim() === "*" ? "*" : header.match(/(?:W\/)?"[^"]*"|[^\s,][^,]*/g) ?? [];
}

/** Whether a list contains a strong tag by strong comparison. */
function hasTagStrongly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || tags.includes(tag);
}

/** Whether a list contains a strong tag by weak comparison. */
export function hasTagWeakly(header: string, tag: string): boolean {
  const tags = parseTags(header);
  return tags === "*" || tags.includes(tag) || tags.includes(`W/${tag}`);
}

export function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}

/**
 * Returns milliseconds since 1970; `NaN` unless the date has the format that senders must use (IMF-fixdate). Chosen:
 * the two obsolete formats count as invalid, because no client in use sends them.
 */
export function parseHttpDate(text: string): number {
  const atMs = Date.parse(text);
  return httpDate(atMs) === text ? atMs : NaN;
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
): "proceed" | "not_modified" | "failed" {
  const ifMatch = exchange.header("if-match");
  if (ifMatch !== undefined && !hasTagStrongly(ifMatch, tag)) return "failed";
  const unmodifiedSince = parseHttpDate(exchange.header("if-unmodified-since") ?? "");
  if (ifMatch === undefined && wholeSeconds(modifiedMs) > unmodifiedSince) return "failed";
  const ifNoneMatch = exchange.header("if-none-match");
  if (ifNoneMatch !== undefined) return hasTagWeakly(ifNoneMatch, tag) ? "not_modified" : "proceed";
  const since = parseHttpDate(exchange.header("if-modified-since") ?? "");
  return wholeSeconds(modifiedMs) <= since ? "not_modified" : "proceed";
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
  return parseHttpDate(ifRange) === modified && nowMs - modified > strongDateAgeMs;
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
