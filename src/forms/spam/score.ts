/**
 * The spam score of a form submission: a pure function of its fields, with named reasons. What it may cost is told
 * before it is done, in steps (`work.ts`), and every part of it is linear in them. This module is browser
 * compatible.
 *
 * @module
 */

import { scoreBlockedWords } from "./blocked.ts";
import { scoreContact } from "./contact.ts";
import { scoreGibberish } from "./gibberish.ts";
import { scoreLinks } from "./links.ts";
import { scorePitch } from "./pitch.ts";
import { readSubmission, type Submission } from "./reading.ts";
import { type SpamReason, spamReasons } from "./reasons.ts";
import { scoreRepeats } from "./repeats.ts";
import { scoreScripts } from "./scripts.ts";
import { scoreShape } from "./shape.ts";
import { scoreFillTime } from "./timing.ts";

export { type FormValue, type Submission } from "./reading.ts";

/** What {@linkcode scoreSubmission} found. */
export interface Scored {
  /** A whole number, 0 or more: the sum of the reasons' points. */
  readonly score: number;
  /** Each name at most once, in the order of {@linkcode spamReasons}; empty when nothing was found. */
  readonly reasons: readonly SpamReason[];
}

/** What a score depends on besides the fields. */
export interface ScoreOptions {
  /**
   * The form's blocked words and phrases, matched as whole words without regard to case, accents and
   * full-width forms, in every field but the technical ones. One in a script without spaces, or without any
   * letter, matches anywhere.
   */
  readonly blocked: readonly string[];
  /** When the submission arrived, in milliseconds of the server's clock, for the too-fast fill. */
  readonly receivedAtMs: number;
}

/**
 * A submission with this score or more is held, unless the form says another threshold.
 *
 * Chosen: 50, with points such that no single weak sign reaches it (one link, a strange name, capitals, a fast
 * fill, a foreign script), but one blocked word does, because the operator asked for it.
 */
export const defaultThreshold = 50;

const parts = [
  scoreLinks,
  scoreRepeats,
  scoreScripts,
  scoreGibberish,
  scoreContact,
  scorePitch,
  scoreShape,
] as const;

const order = Object.keys(spamReasons);

/**
 * Scores a submission. The same fields give the same score in any order, as long as they are no more than are judged.
 * Never throws, whatever the names and the text.
 *
 * Source: SPEC, Tenant forms ("content is also scored server-side"); DECISIONS, Forms.
 *
 * Chosen: fields are judged by what their names say they hold (a link belongs in `listing_url` and not in
 * `first_name`); where a page was opened from (`page_url`, `referrer`, `utm_*`) and the like is not judged.
 */
export function scoreSubmission(
  submission: Submission,
  options: ScoreOptions,
): Scored {
  const reading = readSubmission(submission);
  const found = [
    ...parts.flatMap((part) => part(reading)),
    ...scoreBlockedWords(reading, options.blocked),
    ...scoreFillTime(submission, options.receivedAtMs),
  ];
  const points = new Map<string, SpamReason>();
  for (const reason of found) {
    const sum = (points.get(reason.name)?.points ?? 0) + reason.points;
    if (sum > 0) points.set(reason.name, { name: reason.name, points: sum });
  }
  const reasons = [...points.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return { score: reasons.reduce((sum, reason) => sum + reason.points, 0), reasons };
}
