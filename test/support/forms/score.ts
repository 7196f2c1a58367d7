/** Scores for the tests of the spam score, from plain objects. */

import type { SpamReasonName } from "../../../src/forms/spam/reasons.ts";
import {
  type FormValue,
  type Scored,
  type ScoreOptions,
  scoreSubmission,
  type Submission,
} from "../../../src/forms/spam/score.ts";

/** What a form posts. */
export type Fields = Readonly<Record<string, FormValue>>;

/** When the submissions of the tests arrive. */
export const nowMs = Date.UTC(2026, 10, 20, 12);

/** Fields as the score takes them. */
export function submissionOf(fields: Fields): Submission {
  return new Map(Object.entries(fields).map(([name, value]) => [name, { value }]));
}

/** The score of a labelled case. */
export function scoreCase(one: { readonly fields: Fields } & ScoreOptions): Scored {
  return scoreSubmission(submissionOf(one.fields), one);
}

/** The score of fields that arrive at {@linkcode nowMs}. */
export function score(fields: Fields, blocked: readonly string[] = []): Scored {
  return scoreCase({ fields, blocked, receivedAtMs: nowMs });
}

/** The names of its reasons. */
export function reasonNames(fields: Fields, blocked: readonly string[] = []): readonly SpamReasonName[] {
  return score(fields, blocked).reasons;
}

/** A message with nothing else that could be a sign. */
export function message(text: string): Fields {
  return { name: "Ada Brook", email: "ada@example.com", phone: "415-555-0123", message: text };
}
