/** The spam score: the probability that a submission is spam. This module is browser compatible. */

import { hasBlocked } from "../blocked_words.ts";
import { gibberishSigns } from "./gibberish.ts";
import { linkSigns } from "./links.ts";
import { foldedCodes, type Lessons, percentOf, strengthOf, weightOfSign, weighWords } from "./model.ts";
import { fieldsOf, type Reading, readSubmission, type Submission } from "./reading.ts";
import { type Sign, type SpamReasonName, spamReasons } from "./reasons.ts";
import { contactSigns, shapeSigns, timingSigns } from "./signs.ts";
import { model } from "./weights.ts";

export { type FormValue, type Submission } from "./reading.ts";

export interface Scored {
  /** The probability in percent, a whole number. */
  readonly score: number;
  /** Reasons for spam, in the order of {@linkcode spamReasons}. */
  readonly reasons: readonly SpamReasonName[];
}

export interface ScoreOptions {
  /** Blocked words and phrases, matched as whole folded words; in a script without spaces they match anywhere. */
  readonly blocked: readonly string[];
  /** In milliseconds of the server's clock, for the too-fast check. */
  readonly receivedAtMs: number;
  /** What operators have taught. */
  readonly lessons?: Lessons;
  /** How many others sent this folded text recently. */
  readonly otherSenders?: (text: string) => number;
}

/** A score at which a submission is held, unless the form sets another. Source: DECISIONS, Decided since (Spam). */
export const defaultThreshold = 50;

const order = Object.keys(spamReasons);
const nothing: Lessons = new Map();

/** The signs of a submission other than its words. */
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
 * Scores a submission, independent of the order of its fields. Never throws. Chosen: a blocked word, or more than can
 * be scored, is 100. Source: SPEC, Tenant forms; DECISIONS, Decided since (Spam).
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
