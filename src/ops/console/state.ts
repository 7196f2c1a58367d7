/**
 * States, flags and reasons as badges, and what they mean to somebody who has to act.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { Bounded } from "../../store/operator/admin_pool.ts";
import { count, shown } from "./text.ts";

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
  return markup`${words.map((word) => markup`<span class="badge">${shown(word)}</span> `)}`;
}

// Source: DECISIONS, Delivery, and the functions of sql/ that write these words.
const meanings: Readonly<Record<string, string>> = {
  effects_not_begun:
    "more came at once than the actions tier may send; it goes on by itself, without an attempt spent",
  no_route: "no route of the tenant takes it; ctl tenant route gives it one, and what waits goes at once",
  tier_away:
    "the actions tier could not be reached when it was due; nothing was sent, and it goes when the tier is back",
  replayed: "an operator has replayed it",
  sent_again: "an operator has sent it again",
  released: "an operator has released it",
};

/** Why something waits or has failed, with what that means where it is known. */
export function reasonText(reason: string | null): Markup | null {
  if (reason === null) return null;
  const meaning = meanings[reason];
  return markup`<strong>${shown(reason)}</strong>${meaning !== undefined && markup`: ${meaning}`}`;
}

/** A number that was counted up to a bound, as text. */
export function boundedText({ count: n, isMore }: Bounded): string {
  return isMore ? `${count(n)}+` : count(n);
}
