/** Computes the spam score: the probability that a submission is spam. This module is browser compatible. */

import { hasBlocked } from "../blocked_words.ts";
import { gibberishSignals } from "./gibberish.ts";
import { linkSignals } from "./links.ts";
import { foldedCodes, type Lessons, signalStrength, signalWeight, toPercent, wordLogOdds } from "./model.ts";
import { fieldsWithRole, type ParsedSubmission, parseSubmission, type Submission } from "./parse.ts";
import { type Signal, type SpamReasonName, spamReasons } from "./reasons.ts";
import { contactSignals, contentSignals, timingSignals } from "./signals.ts";
import { model } from "./weights.ts";

export { type FormValue, type Submission } from "./parse.ts";

export interface Scored {
  /** The probability as a whole percentage. */
  readonly score: number;
  /** The reasons for spam, in the order of {@linkcode spamReasons}. */
  readonly reasons: readonly SpamReasonName[];
}

export interface ScoreOptions {
  /** Blocked words and phrases, which match whole folded words, or, in scripts without spaces, anywhere. */
  readonly blocked: readonly string[];
  /** The time of arrival by the server's clock, for the timing check. */
  readonly receivedAtMs: number;
  readonly lessons?: Lessons;
  /** Returns how many other senders have recently posted this folded text. */
  readonly otherSenders?: (text: string) => number;
}

/** The minimum score at which submissions are held, unless the form sets it. Source: DECISIONS, Decided since (Spam). */
export const defaultThreshold = 50;

const reasonOrder = Object.keys(spamReasons);
const noLessons: Lessons = new Map();

/** Returns all signals in a submission other than its wording and blocked words. */
export function findSignals(
  parsed: ParsedSubmission,
  submission: Submission,
  { receivedAtMs, otherSenders }: Pick<ScoreOptions, "receivedAtMs" | "otherSenders">,
): readonly Signal[] {
  const messages = fieldsWithRole(parsed, "message");
  const message = (messages.length > 0 ? messages : fieldsWithRole(parsed, "text"))
    .map(({ folded }) => folded).join(" ");
  return [linkSignals, gibberishSignals, contactSignals, contentSignals].flatMap((find) => find(parsed))
    .concat(timingSignals(submission, receivedAtMs), [["repeated_post", otherSenders?.(message) ?? 0]]);
}

/**
 * Scores a submission, independently of the order of its fields; never throws. Chosen: the score is 100 for a blocked word
 * and for a submission that is too large to score. Source: SPEC, Tenant forms; DECISIONS, Decided since (Spam).
 */
export function scoreSubmission(submission: Submission, options: ScoreOptions): Scored {
  const { blocked, lessons = noLessons } = options;
  const parsed = parseSubmission(submission);
  const isBlocked = blocked.length > 0 &&
    parsed.fields.flatMap(({ text, disclosure }) => [text, disclosure])
      .some((text) => hasBlocked(blocked, text, foldedCodes(text)));
  const wording = model.bias + wordLogOdds(parsed, lessons);
  const signals = findSignals(parsed, submission, options).map((signal) =>
    [signal[0], signalWeight(signal) * signalStrength(signal[1])] as const
  );
  const logOdds = signals.reduce((sum, [, odds]) => sum + odds, wording);
  const reasons = new Set<string>(signals.filter(([, odds]) => odds > 0).map(([name]) => name));
  if (isBlocked) reasons.add("blocked_words");
  if (parsed.isTooLarge) reasons.add("unreviewed");
  if (wording > 0) reasons.add("wording");
  return {
    score: isBlocked || parsed.isTooLarge ? 100 : toPercent(logOdds),
    reasons: reasonOrder.filter((name) => reasons.has(name)) as SpamReasonName[],
  };
}
