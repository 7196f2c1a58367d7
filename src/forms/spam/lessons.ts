/** Learns the weights of words from operators' labels. This module is browser compatible. */

import { readFeatures } from "./features.ts";
import { commonBuckets, foldedCodes, type Lessons, scoredTexts } from "./model.ts";
import { parseSubmission, type Submission } from "./parse.ts";
import { scoreSubmission } from "./score.ts";

/** A word or pair of words, with the total scoring errors, in points, for labeled submissions that contain it. */
export interface Lesson {
  readonly hash: number;
  readonly ham: number;
  readonly spam: number;
}

/** The minimum number of senders of a learned word. Chosen: 3, so that no lesson depends on, or identifies, one sender. */
const sendersMin = 3;
/** The number of 100-point errors, all with the same label, that give a weight half of its maximum. */
const errorsForHalf = 4;
const weightMax = 8;
/** The number of characters at the start of a text that are counted. */
const textLengthMax = 4_000;

/** Counts labeled submissions by the hashes of their words. */
export class LessonCounts {
  readonly #senders = new Set<string>();
  readonly #counts = new Map<number, { ham: number; spam: number; senders: number }>();

  /** Counts a submission, unless one from the same sender with the same label has been counted. */
  add(submission: Submission, { isSpam, sender }: { isSpam: boolean; sender: string }): void {
    const key = `${isSpam} ${sender}`;
    if (this.#senders.has(key)) return;
    this.#senders.add(key);
    const { score } = scoreSubmission(submission, { blocked: [], receivedAtMs: 0 });
    for (const hash of wordHashes(submission)) {
      const count = this.#counts.get(hash) ?? { ham: 0, spam: 0, senders: 0 };
      this.#counts.set(hash, count);
      count.senders++;
      if (isSpam) count.spam += 100 - score;
      else count.ham += score;
    }
  }

  /** The lessons for the words that enough senders have used. */
  get lessons(): Lesson[] {
    return [...this.#counts].filter(([, { senders }]) => senders >= sendersMin)
      .map(([hash, { ham, spam }]) => ({ hash, ham, spam }));
  }
}

function wordHashes(submission: Submission): ReadonlySet<number> {
  const hashes = new Set<number>();
  const { messages, answers } = scoredTexts(parseSubmission(submission));
  for (const text of [...messages, ...answers]) {
    const folded = foldedCodes(text.slice(0, textLengthMax));
    readFeatures(folded, folded.length, {
      feature(bucket, family, _from, _to, hash) {
        if (family === 0 && !commonBuckets.has(bucket)) hashes.add(hash);
      },
      word() {},
    });
  }
  return hashes;
}

/** Computes the words' weights in log-odds; a weight is negative if most of the errors are on legitimate submissions. */
export function lessonWeights(lessons: readonly Lesson[]): Lessons {
  return new Map(
    lessons.map((
      { hash, ham, spam },
    ) => [hash, weightMax * (spam - ham) / (ham + spam + 100 * errorsForHalf)]),
  );
}
