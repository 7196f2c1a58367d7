/** Learns from stored submissions, and explains their scores. */

import type { Learner } from "../store/jobs/spam_learning.ts";
import { readFields } from "./fields.ts";
import { explainScore, type Share } from "./spam/explain.ts";
import { LessonCounts, weighLessons } from "./spam/lessons.ts";
import type { Lessons } from "./spam/model.ts";
import type { Submission } from "./spam/reading.ts";

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

/** {@linkcode explainScore} for a stored submission. */
export function explainStored(
  { lead, receivedAt }: { readonly lead: string; readonly receivedAt: string },
  lessons: Lessons,
): readonly Share[] {
  return explainScore(submissionOf(lead), Date.parse(receivedAt), lessons);
}

const submissionOf = (lead: string): Submission => readFields(lead)?.fields ?? new Map();
