/** Learns words from the verdicts of operators. This module is browser compatible. */

import { readFeatures } from "./features.ts";
import { commonPlaces, foldedCodes, type Lessons, textsOf } from "./model.ts";
import { readSubmission, type Submission } from "./reading.ts";
import { scoreSubmission } from "./score.ts";

/** The total error, in points, of the scores of submissions with a word or pair, by its hash. */
export interface Lesson {
  readonly hash: number;
  readonly ham: number;
  readonly spam: number;
}

/** Chosen: 3 senders, so that one click moves nothing, and nothing stored identifies a sender. */
const sendersMin = 3;
/** A weight is at half of its maximum after so many errors of 100 points. */
const half = 4;
const weightMax = 8;
/** Only the beginning of a longer text counts. */
const textLengthMax = 4_000;

/** Counts labelled submissions by the hashes of their words. */
export class LessonCounts {
  readonly #senders = new Set<string>();
  readonly #counts = new Map<number, { ham: number; spam: number; senders: number }>();

  /** Submissions of one sender with the same verdict count once. */
  add(submission: Submission, { isSpam, sender }: { isSpam: boolean; sender: string }): void {
    const once = `${isSpam} ${sender}`;
    if (this.#senders.has(once)) return;
    this.#senders.add(once);
    const { score } = scoreSubmission(submission, { blocked: [], receivedAtMs: 0 });
    for (const hash of hashesOf(submission)) {
      const count = this.#counts.get(hash) ?? { ham: 0, spam: 0, senders: 0 };
      this.#counts.set(hash, count);
      count.senders++;
      if (isSpam) count.spam += 100 - score;
      else count.ham += score;
    }
  }

  /** Words that enough senders have used. */
  get lessons(): Lesson[] {
    return [...this.#counts].filter(([, { senders }]) => senders >= sendersMin)
      .map(([hash, { ham, spam }]) => ({ hash, ham, spam }));
  }
}

function hashesOf(submission: Submission): ReadonlySet<number> {
  const hashes = new Set<number>();
  const { messages, answers } = textsOf(readSubmission(submission));
  for (const text of [...messages, ...answers]) {
    const folded = foldedCodes(text.slice(0, textLengthMax));
    readFeatures(folded, folded.length, {
      feature(place, family, _from, _to, hash) {
        if (family === 0 && !commonPlaces.has(place)) hashes.add(hash);
      },
      word() {},
    });
  }
  return hashes;
}

/** Weights in log-odds; negative for words of released submissions. */
export function weighLessons(lessons: readonly Lesson[]): Lessons {
  return new Map(
    lessons.map(({ hash, ham, spam }) => [hash, weightMax * (spam - ham) / (ham + spam + 100 * half)]),
  );
}
