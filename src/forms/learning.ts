/** Learns from stored submissions, and explains their spam scores. */

import type { Learner } from "../store/jobs/spam_learning.ts";
import { readFields } from "./fields.ts";
import { explainScore, type Share } from "./spam/explain.ts";
import { LessonCounts, lessonWeights } from "./spam/lessons.ts";
import type { Lessons } from "./spam/model.ts";
import type { Submission } from "./spam/parse.ts";

export const learner: Learner<Lessons> = {
  count() {
    const counts = new LessonCounts();
    return {
      add: ({ lead, isSpam, sender }) => counts.add(parseFields(lead), { isSpam, sender }),
      get lessons() {
        return counts.lessons;
      },
    };
  },
  toWeights: lessonWeights,
};

export function explainStored(
  { lead, receivedAt }: { readonly lead: string; readonly receivedAt: string },
  lessons: Lessons,
): readonly Share[] {
  return explainScore(parseFields(lead), Date.parse(receivedAt), lessons);
}

const parseFields = (lead: string): Submission => readFields(lead)?.fields ?? new Map();
