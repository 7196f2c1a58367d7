/**
 * The spam score of a form submission: a pure function of its fields, the probability that it is spam, with named reasons.
 * Linear in the text. This module is browser compatible.
 */

import { hasBlocked } from "../blocked_words.ts";
import { gibberishSigns } from "./gibberish.ts";
import { linkSigns } from "./links.ts";
import { foldedCodes, type Lessons, percentOf, strengthOf, weightOfSign, weighWords } from "./model.ts";
import { fieldsOf, type Reading, readSubmission, type Submission } from "./reading.ts";
import { type Sign, type SpamReasonName, spamReasons } from "./reasons.ts";
import { contactSigns, shapeSigns, timingSigns } from "./signs.ts";
import { model } from "./weights.ts";

export { type FormValue, type Submission } from "./reading.ts";

/** What {@linkcode scoreSubmission} found. */
export interface Scored {
  /** The probability that it is spam, a whole number from 0 to 100. */
  readonly score: number;
  /** What speaks for spam, each once, in the order of {@linkcode spamReasons}; empty when nothing does. */
  readonly reasons: readonly SpamReasonName[];
}

/** What a score depends on besides the fields. */
export interface ScoreOptions {
  /**
   * The form's blocked words and phrases, matched as whole words without regard to case, accents and full-width forms, in
   * every field but the technical ones. One in a script without spaces, or without any letter, matches anywhere.
   */
  readonly blocked: readonly string[];
  /** When the submission arrived, in milliseconds of the server's clock, for the too-fast fill. */
  readonly receivedAtMs: number;
  /** What the operators of this installation have taught; nothing when left out. */
  readonly lessons?: Lessons;
  /** How many others have sent this folded text lately; none when left out. */
  readonly otherSenders?: (text: string) => number;
}

/**
 * A submission with this score or more is held, unless the form says another threshold.
 *
 * Source: DECISIONS, section 10 (Spam).
 */
export const defaultThreshold = 50;

const order = Object.keys(spamReasons);
const nothing: Lessons = new Map();

/** What a submission shows besides its words. */
export function signsOf(
  reading: Reading,
  submission: Submission,
  { receivedAtMs, otherSenders }: Pick<ScoreOptions, "receivedAtMs" | "otherSenders">,
): readonly Sign[] {
  const message = fieldsOf(reading, "message").map(({ folded }) => folded).join(" ");
  return [linkSigns, gibberishSigns, contactSigns, shapeSigns].flatMap((signs) => signs(reading))
    .concat(timingSigns(submission, receivedAtMs), [["repeated_post", otherSenders?.(message) ?? 0]]);
}

/**
 * Scores a submission. The same fields give the same score in any order. Never throws, whatever the names and the text.
 *
 * Source: SPEC, Tenant forms ("content is also scored server-side"); DECISIONS, section 10 (Spam).
 *
 * Chosen: a blocked word, and what is too much to be judged, are certain: 100, which every threshold holds.
 */
export function scoreSubmission(submission: Submission, options: ScoreOptions): Scored {
  const { blocked, lessons = nothing } = options;
  const reading = readSubmission(submission);
  const isBlocked = blocked.length > 0 &&
    reading.fields.some(({ text }) => hasBlocked(blocked, text, foldedCodes(text)));
  const wording = model.bias + weighWords(reading, lessons);
  const weighed = signsOf(reading, submission, options).map((sign) =>
    [sign[0], weightOfSign(sign) * strengthOf(sign[1])] as const
  );
  const logOdds = weighed.reduce((sum, [, odds]) => sum + odds, wording);
  const found = new Set<string>(weighed.filter(([, odds]) => odds > 0).map(([name]) => name));
  if (isBlocked) found.add("blocked_words");
  if (reading.isTooMuch) found.add("unjudged");
  if (wording > 0) found.add("wording");
  return {
    score: isBlocked || reading.isTooMuch ? 100 : percentOf(logOdds),
    reasons: order.filter((name) => found.has(name)) as SpamReasonName[],
  };
}
