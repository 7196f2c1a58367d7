/**
 * Conditional requests on something that exists, in the order of RFC 9110, section 13.2.2.
 *
 * @module
 */

import { hasTagStrongly, hasTagWeakly } from "../etag.ts";
import type { Exchange } from "../exchange.ts";
import { parseHttpDate } from "./http_date.ts";

/** What a representation is known by. */
export interface Validators {
  /** A strong entity tag, quotes included. */
  readonly tag: string;
  readonly modifiedMs: number;
}

/** A date is a strong validator only when nothing can have changed within its second: section 8.8.2.2. */
const dateIsStrongAfterMs = 1_000;

/** What becomes of a GET or HEAD: its answer, 304, or 412. */
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

/** Whether a `Range` header counts: there is no `If-Range`, or it names exactly this representation. */
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

/** What `Last-Modified` can say of a time. */
function wholeSeconds(atMs: number): number {
  return Math.floor(atMs / 1_000) * 1_000;
}
