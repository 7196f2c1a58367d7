/**
 * How long to wait before the next try. This module is browser compatible.
 *
 * @module
 */

import { limits } from "./limits.ts";

/**
 * The wait before the n-th retry after a spent try, in milliseconds. `random` is drawn from 0 to 1; a readable
 * `Retry-After` is a floor, without jitter.
 */
export function backoffMs(retry: number, random: number, retryAfterMs: number | null): number {
  const fullMs = Math.min(limits.backoffMsMax, limits.backoffMs * 2 ** (retry - 1));
  return Math.max(fullMs * (1 + random) / 2, retryAfterMs ?? 0);
}

/**
 * The wait after the k-th 429 in a row, in milliseconds; `Infinity` when the server asks for more than a number can
 * hold. It grows, so that many clients behind one address come apart.
 */
export function rateLimitMs(inRow: number, random: number, retryAfterMs: number | null): number {
  const floorMs = Math.max(limits.rateLimitMsMin, retryAfterMs ?? 0);
  return Math.max(floorMs, Math.min(limits.backoffMsMax, floorMs * 2 ** (inRow - 1))) * (1 + random / 4);
}

/**
 * A `Retry-After` in milliseconds from `nowMs`: whole seconds or an HTTP date, 0 for a date that is past; `null` when
 * it is missing or unreadable.
 */
export function readRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  const trimmed = text.trim();
  if (/^[0-9]+$/.test(trimmed)) return Number(trimmed) * 1_000;
  const dateMs = readHttpDate(trimmed, nowMs);
  return dateMs === null ? null : Math.max(0, dateMs - nowMs);
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const time = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
const month = `(?<month>${months.join("|")})`;
const shortDay = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const longDay = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)";
/** The three forms of RFC 9110, the one that is written today first. */
const httpDates = [
  new RegExp(`^${shortDay}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${longDay}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^${shortDay} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/** Milliseconds since 1970. Not `Date.parse`, which takes far more than HTTP knows, "-1" among it. */
function readHttpDate(text: string, nowMs: number): number | null {
  const parts = httpDates.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return null;
  const number = (name: string) => Number(parts[name]);
  const [day, hour, minute, second] = ["day", "hour", "minute", "second"].map(number) as [
    number,
    number,
    number,
    number,
  ];
  const monthIndex = months.indexOf(parts.month ?? "");
  const year = fullYear(parts.year ?? "", nowMs);
  const date = new Date(0);
  date.setUTCFullYear(year, monthIndex, day);
  // A leap second is the one before it.
  date.setUTCHours(hour, minute, Math.min(second, 59));
  const written = date.getUTCMonth() === monthIndex && date.getUTCDate() === day;
  return written && hour < 24 && minute < 60 && second <= 60 ? date.getTime() : null;
}

/** Two digits mean the year within the 50 that come, or the past. */
function fullYear(text: string, nowMs: number): number {
  if (text.length === 4) return Number(text);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - thisYear % 100 + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
