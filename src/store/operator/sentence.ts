/** Sentences about events, which `ctl` renders as text and the console as HTML. */

import { pausedText } from "./pauses.ts";
import { crmWaitTexts } from "./route_states.ts";

/** A part of a sentence: our own words, or a value. `text` is untrusted; `time` is ISO 8601, UTC. */
export type Piece = string | {
  readonly kind: "text" | "time" | "event" | "collision";
  readonly value: string;
};

/** A sentence, in pieces. */
export type Sentence = readonly Piece[];

/** A caller's or an operator's text. */
export const quoted = (value: string): Piece => ({ kind: "text", value });
export const timeAt = (value: string): Piece => ({ kind: "time", value });
export const eventId = (value: string): Piece => ({ kind: "event", value });
export const collisionId = (value: string): Piece => ({ kind: "collision", value });

/** Joins pieces and sentences; `false` and `null` are left out. */
export function sentence(...parts: readonly (Piece | Sentence | false | null)[]): Sentence {
  return parts.flatMap((part) => part === false || part === null ? [] : part);
}

// Source: DECISIONS, Delivery, and the functions in sql/ that write these words.
const reasonMeanings: Readonly<Record<string, string>> = {
  ...crmWaitTexts,
  expression_failed: "an expression of the CRM recipe failed; correct the recipe, then replay",
  expression_timeout: "an expression of the CRM recipe took too long; it is retried",
  host_refused: "the CRM recipe computed a host that it may not reach; correct the recipe, then replay",
  effects_not_begun:
    "the actions tier had no free connection; the delivery is retried without spending an attempt",
  no_route:
    "the tenant has no route for it; when you add one with ctl tenant route, waiting events are sent immediately",
  paused: `${pausedText}; the event is sent immediately when you resume`,
  tier_away: "the actions tier was unreachable; nothing was sent, and delivery resumes when the tier is back",
  may_repeat: "it could be delivered twice after a restore; ctl dead replay sends it, ctl dead done does not",
  replayed: "replayed by an operator",
  sent_again: "sent again by an operator",
  released: "released by an operator",
};

/** Returns what a reason means; `null` if the code says it all. */
export function reasonMeaning(reason: string): string | null {
  return reasonMeanings[reason] ?? null;
}

/** Returns a reason with its meaning. */
export function reasonSentence(reason: string): Sentence {
  const meaning = reasonMeaning(reason);
  return sentence(quoted(reason), meaning !== null && `: ${meaning}`);
}
