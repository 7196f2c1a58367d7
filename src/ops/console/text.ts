/** Formats text, numbers and times. Callers' text is untrusted: invisible and bidirectional characters are shown as code points. */

import { shortEventIdLength } from "../../contract/event_id.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import type { BoundedCount } from "../../store/operator/admin_pool.ts";
import type { Figures } from "../../store/operator/report_rows.ts";
import { reasonMeaning, type Sentence } from "../../store/operator/sentence.ts";

// Matches control characters except tab and line feed, the soft hyphen, zero-width and bidirectional marks, invisible
// operators, the byte-order mark, interlinear and tag characters, and lone surrogates; not joiners, which some names need.
const invisible =
  // deno-lint-ignore no-control-regex
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate})\1*/gu;

/** Renders a caller's text; `<bdi>` isolates its text direction. */
export function safeText(text: string): Markup {
  return markup`<bdi>${escapedRuns(text)}</bdi>`;
}

/**
 * Renders at most `lengthMax` characters of a caller's text, cut at a word boundary unless that loses more than half.
 */
export function truncated(text: string, lengthMax = 60): Markup {
  const characters = [...text.slice(0, 2 * lengthMax + 2)];
  if (characters.length <= lengthMax) return safeText(text);
  const cut = characters.slice(0, lengthMax).join("");
  const wholeWords = cut.replace(/\s+\S*$/u, "");
  return markup`${
    safeText(2 * wholeWords.length > cut.length ? wholeWords : characters.slice(0, lengthMax - 1).join(""))
  }…`;
}

/** Whether a text has no characters that {@linkcode safeText} must replace, so that plain text can show it. */
export function isPlain(text: string): boolean {
  return text.search(invisible) === -1;
}

function escapedRuns(text: string): Markup[] {
  const runs: Markup[] = [];
  let end = 0;
  for (const match of text.matchAll(invisible)) {
    const codePoint = match[1]?.codePointAt(0) ?? 0;
    const repeats = match[0].length / (match[1]?.length ?? 1);
    const name = `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
    runs.push(
      markup`${text.slice(end, match.index)}<span class="unseen">${name}${
        repeats > 1 && `×${repeats}`
      }</span>`,
    );
    end = match.index + match[0].length;
  }
  runs.push(markup`${text.slice(end)}`);
  return runs;
}

/** Formats a whole number with thousands separators. */
export function formatCount(value: number): string {
  return value.toLocaleString("en-GB");
}

/** Formats a count with its noun: `1 lead`, `2,000 leads`. */
export function pluralize(value: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(value)} ${value === 1 ? singular : plural}`;
}

/** Formats a duration in a single unit: `45 s`, `12 min`, `3 h`, `2 days`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60 || (whole < 120 && whole % 60 !== 0)) return `${whole} s`;
  if (whole < 3600 || (whole < 7200 && whole % 3600 !== 0)) return `${Math.round(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.round(whole / 3600)} h`;
  return pluralize(Math.round(whole / 86_400), "day");
}

/** Formats a time relative to now: `3 min ago`, `in 45 s`. */
export function relativeTime(iso: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(iso)) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `in ${formatSeconds(-seconds)}` : `${formatSeconds(seconds)} ago`;
}

/** The time and time zone of a page. */
export interface PageClock {
  /** The time at which the page is generated, in milliseconds since 1970. */
  readonly nowMs: number;
  /** The time zone in which the page shows times. */
  readonly zone: TimeZone;
}

/** Formats a local time such as `2026-11-21 01:57:00`, with the offset if the time is ambiguous. */
export function localTime(atMs: number, zone: TimeZone): string {
  const { day, clock, offset, isAmbiguous } = zone.at(atMs);
  return `${day} ${clock}${isAmbiguous ? ` ${offset}` : ""}`;
}

/** Formats a month such as `2026-11` as `November 2026`. */
export function monthName(month: string): string {
  const format = { month: "long", year: "numeric", timeZone: "UTC" } as const;
  return new Date(`${month}-01`).toLocaleDateString("en-GB", format);
}

/** Renders a time, also relative to now; `null` as a dash. */
export function timeElement(iso: string | null, { nowMs, zone }: PageClock): Markup {
  if (iso === null) return markup`<span class="quiet">–</span>`;
  return markup`<time datetime="${iso}" title="${iso}">${localTime(Date.parse(iso), zone)}</time> <span
    class="ago">${relativeTime(iso, nowMs)}</span>`;
}

/** Formats a duration in milliseconds; `null` as a dash. */
export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 10_000 ? `${formatCount(ms)} ms` : formatSeconds(ms / 1000);
}

/** Formats cents as dollars. */
export function formatCents(cents: number): string {
  return `$${(cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Formats what a source's leads cost, the credits for the returned ones, and the difference. */
export function moneyCells(
  { spend_cents, credit_cents, net_cents }: Pick<Figures, "spend_cents" | "credit_cents" | "net_cents">,
): string[] {
  return [formatCents(spend_cents), formatCents(credit_cents), formatCents(net_cents)];
}

const badgeTones: Readonly<Record<string, "good" | "warn" | "bad">> = {
  delivered: "good",
  sending: "warn",
  dead: "bad",
  refused: "bad",
  unreachable: "warn",
  lost: "warn",
  done: "good",
  marked: "warn",
  failed: "bad",
  busy: "warn",
  held: "warn",
  returned: "warn",
  open: "bad",
  half_open: "warn",
  closed: "good",
};

/** Renders a state or an outcome as a badge, colored by its meaning. */
export function badge(word: string): Markup {
  const tone = badgeTones[word];
  return markup`<span class="badge${tone !== undefined && ` ${tone}`}">${
    safeText(word.replaceAll("_", " "))
  }</span>`;
}

/** Renders words as badges, or a dash. */
export function badges(words: readonly string[]): Markup {
  if (words.length === 0) return markup`<span class="quiet">–</span>`;
  return markup`${words.map((word) => reasonBadge(word))}`;
}

/** Renders an untrusted word as a badge, which wraps if it is long. */
export function reasonBadge(word: string, tone: "" | "bad" = ""): Markup {
  return markup`<span class="badge ${tone}${word.length > 30 && " long"}">${safeText(word)}</span> `;
}

/** Renders a reason with its meaning, if known. */
export function reasonText(reason: string | null): Markup | null {
  if (reason === null) return null;
  const meaning = reasonMeaning(reason);
  return markup`<strong>${safeText(reason)}</strong>${meaning !== null && markup`: ${meaning}`}`;
}

/** Renders a sentence of the timeline. */
export function renderSentence(sentence: Sentence, clock: PageClock): Markup {
  return markup`${
    sentence.map((piece) => {
      if (typeof piece === "string") return piece;
      const { kind, value } = piece;
      switch (kind) {
        case "text":
          return safeText(value);
        case "time":
          return timeElement(value, clock);
        case "event":
          return markup`<a class="id" href="/leads/${value}">${value}</a>`;
        case "collision":
          return markup`<a href="/collisions/${value}">collision ${value}</a>`;
      }
    })
  }`;
}

/** Links a tenant's page. */
export function tenantLink(slug: string): Markup {
  return markup`<a href="/tenants/${slug}">${slug}</a>`;
}

/** Links an event's page, in a list by the start of its id; the link's title has the whole id. */
export function eventLink(eventId: string, length: "short" | "whole" = "short"): Markup {
  return length === "whole"
    ? markup`<a class="id" href="/leads/${eventId}">${eventId}</a>`
    : markup`<a class="id" href="/leads/${eventId}" title="${eventId}">${
      eventId.slice(0, shortEventIdLength)
    }</a>`;
}

/** Captions a list that shows at most `listedMax` of its rows; `undefined` if it shows all. */
export function shownOf(count: number, listedMax: number): string | undefined {
  return count > listedMax ? `${formatCount(listedMax)} of ${formatCount(count)}` : undefined;
}

/** Formats a bounded count, with `+` if there are more. */
export function formatBoundedCount({ count, isMore }: BoundedCount): string {
  return isMore ? `${formatCount(count)}+` : formatCount(count);
}
