/**
 * Texts on the console's pages. What callers sent is hostile until shown: every character that cannot be seen, or that
 * changes how its neighbours are read, stands there by its number.
 */

import type { TimeZone } from "../../http/time_zone.ts";
import { type Markup, markup } from "../../http/markup.ts";
import type { BoundedCount } from "../../store/operator/admin_pool.ts";

// Controls but tab and line feed, soft hyphen, zero-width and bidirectional marks, invisible operators, the byte-order
// mark, interlinear and tag characters, half surrogate pairs. Joiners stay: names are written with them.
const unseen =
  // deno-lint-ignore no-control-regex
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate})\1*/gu;

/** A caller's text, whole: `<bdi>` keeps its direction from its neighbours. */
export function shown(text: string): Markup {
  return markup`<bdi>${pieces(text)}</bdi>`;
}

/**
 * A caller's text, at most `lengthMax` characters of it, on one line of a table. It is cut between two words, unless the
 * last word takes more than half of it.
 */
export function shortened(text: string, lengthMax = 60): Markup {
  const runes = [...text.slice(0, 2 * lengthMax + 2)];
  if (runes.length <= lengthMax) return shown(text);
  const cut = runes.slice(0, lengthMax).join("");
  const words = cut.replace(/\s+\S*$/u, "");
  return markup`${shown(2 * words.length > cut.length ? words : runes.slice(0, lengthMax - 1).join(""))}…`;
}

function pieces(text: string): Markup[] {
  const found: Markup[] = [];
  let end = 0;
  for (const match of text.matchAll(unseen)) {
    const point = match[1]?.codePointAt(0) ?? 0;
    const count = match[0].length / (match[1]?.length ?? 1);
    const name = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
    found.push(
      markup`${text.slice(end, match.index)}<span class="unseen">${name}${count > 1 && `×${count}`}</span>`,
    );
    end = match.index + match[0].length;
  }
  found.push(markup`${text.slice(end)}`);
  return found;
}

/** A whole number with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString("en-GB");
}

/** A number and its noun: `1 lead`, `2,000 leads`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A span of time in its largest unit: `45 s`, `12 min`, `3 h`, `2 days`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60 || (whole < 120 && whole % 60 !== 0)) return `${whole} s`;
  if (whole < 3600 || (whole < 7200 && whole % 3600 !== 0)) return `${Math.round(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.round(whole / 3600)} h`;
  return counted(Math.round(whole / 86_400), "day");
}

/** How a time lies to now: `3 min ago`, `in 45 s`. */
export function relative(iso: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(iso)) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
}

/** The clock of a page. */
export interface PageClock {
  /** When the page was made, in milliseconds since 1970. */
  readonly nowMs: number;
  /** In which its times are shown. */
  readonly zone: TimeZone;
}

/** A moment as the clocks of the operator's zone show it: `2026-11-21 01:57:00`, with the offset where that comes twice. */
export function moment(atMs: number, zone: TimeZone): string {
  const { day, clock, offset, isTwice } = zone.at(atMs);
  return `${day} ${clock}${isTwice ? ` ${offset}` : ""}`;
}

/** A time as the tables have it, with how long ago it is. `null` is a dash. */
export function time(iso: string | null, { nowMs, zone }: PageClock): Markup {
  if (iso === null) return markup`<span class="quiet">–</span>`;
  return markup`<time datetime="${iso}" title="${iso}">${moment(Date.parse(iso), zone)}</time> <span
    class="ago">${relative(iso, nowMs)}</span>`;
}

/** A duration in milliseconds. */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 10_000 ? `${count(ms)} ms` : span(ms / 1000);
}

/** Whole cents as dollars. */
export function dollars(cents: number): string {
  return `$${(cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

const tones: Readonly<Record<string, "good" | "warn" | "bad">> = {
  delivered: "good",
  sending: "warn",
  dead: "bad",
  refused: "bad",
  unreachable: "warn",
  lost: "warn",
  done: "good",
  failed: "bad",
  busy: "warn",
  held: "warn",
  open: "bad",
  half_open: "warn",
  closed: "good",
};

/** A state, an outcome or another word, coloured by what it means. */
export function badge(word: string): Markup {
  const tone = tones[word];
  return markup`<span class="badge${tone !== undefined && ` ${tone}`}">${
    shown(word.replaceAll("_", " "))
  }</span>`;
}

/** Badges of words, or a dash. */
export function badges(words: readonly string[]): Markup {
  if (words.length === 0) return markup`<span class="quiet">–</span>`;
  return markup`${words.map((word) => reasonBadge(word))}`;
}

/** A badge of a word that may be anybody's: only a long one breaks within. */
export function reasonBadge(word: string, tone: "" | "bad" = ""): Markup {
  return markup`<span class="badge ${tone}${word.length > 30 && " long"}">${shown(word)}</span> `;
}

// Source: DECISIONS, Delivery, and the functions of sql/ that write these words.
const meanings: Readonly<Record<string, string>> = {
  effects_not_begun:
    "the actions tier had no free connection; the delivery is retried without spending an attempt",
  no_route:
    "the tenant has no route for it; add one with ctl tenant route, and waiting events are sent immediately",
  tier_away: "the actions tier was unreachable; nothing was sent, and delivery resumes when the tier is back",
  replayed: "replayed by an operator",
  sent_again: "sent again by an operator",
  released: "released by an operator",
};

/** Why something waits or has failed, with what that means where it is known. */
export function reasonText(reason: string | null): Markup | null {
  if (reason === null) return null;
  const meaning = meanings[reason];
  return markup`<strong>${shown(reason)}</strong>${meaning !== undefined && markup`: ${meaning}`}`;
}

/** A number that was counted up to a bound, as text. */
export function boundedText({ count: n, isMore }: BoundedCount): string {
  return isMore ? `${count(n)}+` : count(n);
}
