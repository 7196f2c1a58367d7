/** Stored submissions as the spam score learns from them and explains them. */

import type { Learner } from "../store/jobs/spam_learning.ts";
import { readFields } from "./fields.ts";
import { explainScore, type Share } from "./spam/explain.ts";
import { LessonCounts, weighLessons } from "./spam/lessons.ts";
import type { Lessons } from "./spam/model.ts";
import type { Submission } from "./spam/reading.ts";

/** Learns from the text of stored submissions. */
export const learner: Learner<Lessons> = {
  count() {
    const counts = new LessonCounts();
    return {
      add: ({ lead, isSpam, sender }) => counts.add(submissionOf(lead), { isSpam, sender }),
      get lessons() {
        return counts.lessons;
      },
    };
  },
  weigh: weighLessons,
};

/** What weighs most in the score of a stored submission, as {@linkcode explainScore} has it. */
export function explainStored(
  { lead, receivedAt }: { readonly lead: string; readonly receivedAt: string },
  lessons: Lessons,
): readonly Share[] {
  return explainScore(submissionOf(lead), Date.parse(receivedAt), lessons);
}

const submissionOf = (lead: string): Submission => readFields(lead)?.fields ?? new Map();
