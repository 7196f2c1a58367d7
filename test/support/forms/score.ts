/** Scores plain objects, for the tests of the spam score. */

import type { SpamReasonName } from "../../../src/forms/spam/reasons.ts";
import {
  type FormValue,
  type Scored,
  type ScoreOptions,
  scoreSubmission,
  type Submission,
} from "../../../src/forms/spam/score.ts";

/** The fields of a submission. */
export type Fields = Readonly<Record<string, FormValue>>;

/** The arrival time of the tests' submissions. */
export const nowMs = Date.UTC(2026, 10, 20, 12);

/** Converts fields to the score's input. */
export function submissionOf(fields: Fields): Submission {
  return new Map(Object.entries(fields).map(([name, value]) => [name, { value }]));
}

/** Scores a labelled case. */
export function scoreCase(one: { readonly fields: Fields } & ScoreOptions): Scored {
  return scoreSubmission(submissionOf(one.fields), one);
}

/** Scores fields that arrive at {@linkcode nowMs}. */
export function score(fields: Fields, blocked: readonly string[] = []): Scored {
  return scoreCase({ fields, blocked, receivedAtMs: nowMs });
}

/** Returns the names of the reasons. */
export function reasonNames(fields: Fields, blocked: readonly string[] = []): readonly SpamReasonName[] {
  return score(fields, blocked).reasons;
}

/** Returns the fields of a message without other spam signals. */
export function message(text: string): Fields {
  return { name: "Ada Brook", email: "ada@example.com", phone: "415-555-0123", message: text };
}
